//! Idempotency keys.

use std::collections::{BTreeMap, HashSet};

use gancho_domain::{ParcelId, TenantId, Time};
use gancho_store::{AcceptOutcome, IdempotencyKey, StoreError};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use crate::{
    accept::BatchParcel,
    rows::{self, uuid},
    session::{Session, execute, query},
    tx_error::{TxError, corrupt},
};

/// Claims keys that are free or expired: by the clock, and by the time `$7` that upkeep has passed, so that a
/// clock that is ahead frees none. Waits for a key that another transaction is claiming.
const CLAIM: &str = "
insert into once_keys (tenant_id, key, content, parcel_id, made_at, until)
select * from unnest($1::uuid[], $2::bytea[], $3::bytea[], $4::uuid[], $5::int8[], $6::int8[])
on conflict (tenant_id, key) do update
set content = excluded.content, parcel_id = excluded.parcel_id,
    made_at = excluded.made_at, until = excluded.until
where once_keys.until <= least(excluded.made_at, $7)
returning tenant_id, key";

const READ: &str = "
select o.tenant_id, o.key, o.content, o.parcel_id, o.made_at, o.until
from unnest($1::uuid[], $2::bytea[]) as k(tenant_id, key)
join once_keys o on o.tenant_id = k.tenant_id and o.key = k.key";

const REPLACE: &str = "
update once_keys o set content = k.content, parcel_id = k.parcel_id,
    made_at = k.made_at, until = k.until
from unnest($1::uuid[], $2::bytea[], $3::bytea[], $4::uuid[], $5::int8[], $6::int8[])
    as k(tenant_id, key, content, parcel_id, made_at, until)
where o.tenant_id = k.tenant_id and o.key = k.key";

type Key = (TenantId, [u8; 32]);

/// The parcel that has a key.
#[derive(Clone, Copy)]
struct Holder {
    parcel: ParcelId,
    content: [u8; 32],
    made_at: Time,
    until: Time,
}

/// Returns for each parcel what its key was used for before, or `None` if it is new. Keys of new parcels
/// belong to them from then on.
pub(crate) async fn seen(
    session: &Session,
    incoming: &[BatchParcel<'_>],
    over: Time,
) -> Result<Vec<Option<AcceptOutcome>>, TxError> {
    // In the order of the keys, so that two batches with the same keys wait for each other but cannot
    // deadlock. If several parcels of this batch have the same key, the first one claims it.
    let mut firsts: BTreeMap<Key, Holder> = BTreeMap::new();
    for (one, once) in with_keys(incoming) {
        firsts.entry((one.new.parcel.tenant, once.key)).or_insert_with(|| holder(one, once));
    }
    if firsts.is_empty() {
        return Ok(vec![None; incoming.len()]);
    }
    let claimed = claim(session, &firsts, over).await?;
    let (mut free, taken): (BTreeMap<_, _>, BTreeMap<_, _>) =
        firsts.into_iter().partition(|(key, _)| claimed.contains(key));
    let mut holders = read(session, taken.keys()).await?;
    if holders.len() < taken.len() {
        // It was removed between the two statements: the transaction is run again, and claims it.
        let text = "a key was forgotten while it was being claimed";
        return Err(TxError::Retry(StoreError::Unavailable(text.to_owned())));
    }
    let (seen, replaced) = decide(incoming, &mut free, &mut holders, over);
    if !replaced.is_empty() {
        execute(session, REPLACE, &Columns::of(&replaced).values()).await?;
    }
    Ok(seen)
}

/// Decides for the parcels of a batch in order. The first one with a free key is new and gets it; later ones
/// are duplicates or clashes. One that is created after the key's time takes the key over, which the second
/// result notes.
fn decide(
    incoming: &[BatchParcel<'_>],
    free: &mut BTreeMap<Key, Holder>,
    holders: &mut BTreeMap<Key, Holder>,
    over: Time,
) -> (Vec<Option<AcceptOutcome>>, BTreeMap<Key, Holder>) {
    let mut replaced = BTreeMap::new();
    let mut decide = |one: &BatchParcel<'_>| {
        let once = one.new.once.as_ref()?;
        let key = (one.new.parcel.tenant, once.key);
        if let Some(first) = free.remove(&key) {
            holders.insert(key, first);
            return None;
        }
        let held = holders.get(&key)?;
        if held.until <= one.new.parcel.created_at.min(over) {
            holders.insert(key, holder(one, once));
            replaced.insert(key, holder(one, once));
            return None;
        }
        let first = held.parcel;
        Some(if held.content == once.content {
            AcceptOutcome::Again { first }
        } else {
            AcceptOutcome::Clash { first }
        })
    };
    let seen = incoming.iter().map(&mut decide).collect();
    (seen, replaced)
}

fn with_keys<'a>(
    incoming: &'a [BatchParcel<'a>],
) -> impl Iterator<Item = (&'a BatchParcel<'a>, &'a IdempotencyKey)> {
    incoming.iter().filter_map(|one| one.new.once.as_ref().map(|once| (one, once)))
}

fn holder(incoming: &BatchParcel<'_>, once: &IdempotencyKey) -> Holder {
    Holder {
        parcel: incoming.new.parcel.id,
        content: once.content,
        made_at: incoming.new.parcel.created_at,
        until: once.until,
    }
}

/// Claims the keys, and returns those that were free.
async fn claim(
    session: &Session,
    keys: &BTreeMap<Key, Holder>,
    over: Time,
) -> Result<HashSet<Key>, TxError> {
    let columns = Columns::of(keys);
    let over = over.micros();
    let mut values = columns.values().to_vec();
    values.push(&over);
    let claimed = query(session, CLAIM, &values).await?;
    claimed.iter().map(|row| Ok((rows::id(row, 0)?, hash(row, 1)?))).collect()
}

async fn read(
    session: &Session,
    keys: impl ExactSizeIterator<Item = &Key> + Clone,
) -> Result<BTreeMap<Key, Holder>, TxError> {
    if keys.len() == 0 {
        return Ok(BTreeMap::new());
    }
    let tenants: Vec<_> = keys.clone().map(|key| uuid(key.0)).collect();
    let names: Vec<&[u8]> = keys.map(|key| key.1.as_slice()).collect();
    let found = query(session, READ, &[&tenants, &names]).await?;
    let holder = |row: &Row| {
        let key = (rows::id(row, 0)?, hash(row, 1)?);
        let held = Holder {
            content: hash(row, 2)?,
            parcel: rows::id(row, 3)?,
            made_at: rows::time(row, 4)?,
            until: rows::time(row, 5)?,
        };
        Ok((key, held))
    };
    found.iter().map(holder).collect()
}

fn hash(row: &Row, column: usize) -> Result<[u8; 32], TxError> {
    let bytes: &[u8] = rows::get(row, column)?;
    Ok(bytes.try_into().map_err(|_| corrupt("a key is not a hash"))?)
}

/// The parameters of [`CLAIM`] and [`REPLACE`].
struct Columns<'a> {
    tenants: Vec<Uuid>,
    names: Vec<&'a [u8]>,
    contents: Vec<&'a [u8]>,
    parcels: Vec<Uuid>,
    made: Vec<i64>,
    until: Vec<i64>,
}

impl<'a> Columns<'a> {
    fn of(keys: &'a BTreeMap<Key, Holder>) -> Self {
        Self {
            tenants: keys.keys().map(|key| uuid(key.0)).collect(),
            names: keys.keys().map(|key| key.1.as_slice()).collect(),
            contents: keys.values().map(|one| one.content.as_slice()).collect(),
            parcels: keys.values().map(|one| uuid(one.parcel)).collect(),
            made: keys.values().map(|one| one.made_at.micros()).collect(),
            until: keys.values().map(|one| one.until.micros()).collect(),
        }
    }

    fn values(&self) -> [&(dyn ToSql + Sync); 6] {
        [&self.tenants, &self.names, &self.contents, &self.parcels, &self.made, &self.until]
    }
}

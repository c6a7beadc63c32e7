//! Keys under which something is accepted once.

use std::collections::BTreeMap;

use deadpool_postgres::ClientWrapper;
use gancho_domain::{Id, ParcelId, TenantId, Time};
use gancho_store::{Accepted, Once};

use crate::{
    accept::Incoming,
    fault::Fault,
    rows::{self, uuid},
    session::{execute, query},
};

/// Claims a key that is free or whose time is over. One that another transaction is just claiming is
/// waited for.
const CLAIM: &str = "
insert into once_keys (tenant_id, key, content, parcel_id, made_at, until)
select * from unnest($1::uuid[], $2::bytea[], $3::bytea[], $4::uuid[], $5::int8[], $6::int8[])
on conflict (tenant_id, key) do update
set content = excluded.content, parcel_id = excluded.parcel_id,
    made_at = excluded.made_at, until = excluded.until
where once_keys.until <= excluded.made_at";

const READ: &str = "
select o.content, o.parcel_id, o.until
from unnest($1::uuid[], $2::bytea[]) with ordinality as k(tenant_id, key, place)
join once_keys o on o.tenant_id = k.tenant_id and o.key = k.key
order by k.place";

const REPLACE: &str = "
update once_keys o set content = k.content, parcel_id = k.parcel_id,
    made_at = k.made_at, until = k.until
from unnest($1::uuid[], $2::bytea[], $3::bytea[], $4::uuid[], $5::int8[], $6::int8[])
    as k(tenant_id, key, content, parcel_id, made_at, until)
where o.tenant_id = k.tenant_id and o.key = k.key";

type Key = (TenantId, [u8; 32]);

/// Whose a key is.
#[derive(Clone, Copy)]
struct Holder {
    parcel: ParcelId,
    content: [u8; 32],
    made_at: Time,
    until: Time,
}

/// For each parcel: what its key was used for before, or nothing where it is new. The keys of those
/// that are new are theirs from then on.
pub(crate) async fn seen(
    session: &ClientWrapper,
    incoming: &[Incoming<'_>],
) -> Result<Vec<Option<Accepted>>, Fault> {
    // In order of the keys, so that two batches with the same keys wait for each other and do not
    // block each other. Of several with one key in this batch, the first asks.
    let mut firsts: BTreeMap<Key, Holder> = BTreeMap::new();
    for (one, once) in with_keys(incoming) {
        firsts.entry((one.new.parcel.tenant, once.key)).or_insert_with(|| holder(one, once));
    }
    if firsts.is_empty() {
        return Ok(vec![None; incoming.len()]);
    }
    write(session, CLAIM, firsts.iter()).await?;
    let mut holders = read(session, firsts.keys()).await?;
    let (seen, replaced) = decide(incoming, &mut holders);
    if !replaced.is_empty() {
        write(session, REPLACE, replaced.iter()).await?;
    }
    Ok(seen)
}

/// Goes through the batch in order. A parcel that holds its key is new; another is again or a clash;
/// one after the key's time takes it over, which the second map notes.
fn decide(
    incoming: &[Incoming<'_>],
    holders: &mut BTreeMap<Key, Holder>,
) -> (Vec<Option<Accepted>>, BTreeMap<Key, Holder>) {
    let mut replaced = BTreeMap::new();
    let seen = incoming
        .iter()
        .map(|one| {
            let once = one.new.once.as_ref()?;
            let key = (one.new.parcel.tenant, once.key);
            let held = holders.get(&key)?;
            if held.parcel == one.new.parcel.id {
                return None;
            }
            if held.until <= one.new.parcel.created_at {
                holders.insert(key, holder(one, once));
                replaced.insert(key, holder(one, once));
                return None;
            }
            let first = held.parcel;
            Some(if held.content == once.content {
                Accepted::Again { first }
            } else {
                Accepted::Clash { first }
            })
        })
        .collect();
    (seen, replaced)
}

fn with_keys<'a>(
    incoming: &'a [Incoming<'a>],
) -> impl Iterator<Item = (&'a Incoming<'a>, &'a Once)> {
    incoming.iter().filter_map(|one| one.new.once.as_ref().map(|once| (one, once)))
}

fn holder(one: &Incoming<'_>, once: &Once) -> Holder {
    Holder {
        parcel: one.new.parcel.id,
        content: once.content,
        made_at: one.new.parcel.created_at,
        until: once.until,
    }
}

async fn write(
    session: &ClientWrapper,
    sql: &str,
    keys: impl Iterator<Item = (&Key, &Holder)> + Clone,
) -> Result<(), Fault> {
    let tenants: Vec<_> = keys.clone().map(|(key, _)| uuid(key.0)).collect();
    let names: Vec<&[u8]> = keys.clone().map(|(key, _)| key.1.as_slice()).collect();
    let contents: Vec<&[u8]> = keys.clone().map(|(_, one)| one.content.as_slice()).collect();
    let parcels: Vec<_> = keys.clone().map(|(_, one)| uuid(one.parcel)).collect();
    let made: Vec<i64> = keys.clone().map(|(_, one)| one.made_at.micros()).collect();
    let until: Vec<i64> = keys.map(|(_, one)| one.until.micros()).collect();
    execute(session, sql, &[&tenants, &names, &contents, &parcels, &made, &until]).await?;
    Ok(())
}

async fn read(
    session: &ClientWrapper,
    keys: impl Iterator<Item = &Key> + Clone,
) -> Result<BTreeMap<Key, Holder>, Fault> {
    let tenants: Vec<_> = keys.clone().map(|key| uuid(key.0)).collect();
    let names: Vec<&[u8]> = keys.clone().map(|key| key.1.as_slice()).collect();
    let found = query(session, READ, &[&tenants, &names]).await?;
    keys.zip(&found)
        .map(|(key, row)| {
            let content: &[u8] = rows::get(row, 0)?;
            let held = Holder {
                parcel: Id::from_bits(rows::id::<gancho_domain::id::OfEvent>(row, 1)?.bits()),
                content: content
                    .try_into()
                    .map_err(|_| crate::fault::corrupt("a key's content is not a hash"))?,
                made_at: Time::ZERO,
                until: rows::time(row, 2)?,
            };
            Ok((*key, held))
        })
        .collect()
}

//! Strict order per subject: of the unfinished deliveries of one subject to one target, one is active and the
//! others wait for it, in the order of acceptance.
//!
//! **Invariant.** The transaction that decides that a delivery must wait, and the one that ends the delivery
//! it waits for, lock the subject's row until they commit. Accepting locks that row when it numbers the
//! parcel; everything that ends a delivery locks it with [`lock`] first. So neither misses the other.

use std::collections::{BTreeSet, HashSet};

use gancho_domain::{DeliveryId, TenantId};
use gancho_store::TargetId;
use uuid::Uuid;

use crate::{
    rows::{self, uuid},
    session::{Session, execute, query},
    states::{LEASED, PENDING, Sql, WAITING},
    tx_error::TxError,
};

/// The deliveries of one subject to one target.
pub(crate) type SubjectQueue = (TenantId, TargetId, Vec<u8>);

/// Sorted, so that two transactions wait for each other but cannot deadlock.
const LOCK: &str = "
select 1 from (
    select d.tenant_id, d.order_key as subject
    from unnest($1::uuid[], $2::uuid[]) as g(tenant_id, id)
    join deliveries d on d.tenant_id = g.tenant_id and d.id = g.id
    where d.order_key is not null
    union
    select * from unnest($3::uuid[], $4::bytea[])
) k
join subjects s on s.tenant_id = k.tenant_id and s.subject = k.subject
order by s.tenant_id, s.subject for update of s";

static BLOCKED: Sql = Sql::new(|| {
    format!(
        "
select k.place
from unnest($1::uuid[], $2::uuid[], $3::bytea[]) with ordinality
    as k(tenant_id, target_id, order_key, place)
where exists (
    select from deliveries d
    where d.tenant_id = k.tenant_id and d.target_id = k.target_id and d.order_key = k.order_key
      and d.order_key is not null and d.state in ({PENDING}, {LEASED}, {WAITING}))"
    )
});

/// The first unfinished one may be active already, if someone retried it by hand; it stays so then.
static MOVE_UP: Sql = Sql::new(|| {
    format!("
update deliveries d set state = {PENDING}
from unnest($1::uuid[], $2::uuid[], $3::bytea[]) as k(tenant_id, target_id, order_key)
cross join lateral (
    select n.id, n.state from deliveries n
    where n.tenant_id = k.tenant_id and n.target_id = k.target_id and n.order_key = k.order_key
      and n.order_key is not null and n.state in ({PENDING}, {LEASED}, {WAITING})
    order by n.order_number limit 1
) n
where n.state = {WAITING} and d.tenant_id = k.tenant_id and d.id = n.id and d.state + 0 = {WAITING}")
});

/// Locks the rows of the subjects of these deliveries, and of these other subjects.
pub(crate) async fn lock(
    session: &Session,
    deliveries: &[(TenantId, DeliveryId)],
    subjects: &[(TenantId, &str)],
) -> Result<(), TxError> {
    let tenants: Vec<Uuid> = deliveries.iter().map(|one| uuid(one.0)).collect();
    let ids: Vec<Uuid> = deliveries.iter().map(|one| uuid(one.1)).collect();
    let others: Vec<Uuid> = subjects.iter().map(|one| uuid(one.0)).collect();
    let names: Vec<&[u8]> = subjects.iter().map(|one| one.1.as_bytes()).collect();
    query(session, LOCK, &[&tenants, &ids, &others, &names]).await?;
    Ok(())
}

/// Returns those of the lines that have an unfinished delivery. Their subjects' rows must be locked.
pub(crate) async fn blocked(
    session: &Session,
    lines: BTreeSet<SubjectQueue>,
) -> Result<HashSet<SubjectQueue>, TxError> {
    let (tenants, targets, keys) = columns(&lines);
    let found = query(session, &BLOCKED, &[&tenants, &targets, &keys]).await?;
    let places: HashSet<usize> = found
        .iter()
        .map(|row| rows::get::<i64>(row, 0).map(|place| place as usize - 1))
        .collect::<Result<_, _>>()?;
    Ok(lines
        .into_iter()
        .enumerate()
        .filter(|(place, _)| places.contains(place))
        .map(|(_, line)| line)
        .collect())
}

/// Activates the next delivery of each line, because deliveries in them have ended. Returns whether it
/// activated any.
pub(crate) async fn move_up(
    session: &Session,
    lines: &BTreeSet<SubjectQueue>,
) -> Result<bool, TxError> {
    if lines.is_empty() {
        return Ok(false);
    }
    let (tenants, targets, keys) = columns(lines);
    Ok(execute(session, &MOVE_UP, &[&tenants, &targets, &keys]).await? > 0)
}

fn columns(lines: &BTreeSet<SubjectQueue>) -> (Vec<Uuid>, Vec<Uuid>, Vec<&[u8]>) {
    (
        lines.iter().map(|line| uuid(line.0)).collect(),
        lines.iter().map(|line| uuid(line.1)).collect(),
        lines.iter().map(|line| line.2.as_slice()).collect(),
    )
}

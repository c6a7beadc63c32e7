//! Lists dead letters in the order in which they were given up, with a bounded scan and pages of bounded
//! size.

use std::collections::HashMap;

use bytes::Bytes;
use gancho_domain::{DeliveryId, Id, Lane, ParcelId, Time};
use gancho_store::{DeadFilter, DeadLetter, ListOrder, Page, PageRequest, Result};
use uuid::Uuid;

use super::{LETTER, SENDABLE, dead_letter};
use crate::{
    PostgresStore,
    retry::Key,
    rows::{self, uuid},
    scan::{RowScan, ScanBudget, Step, page, word},
    session::{Session, query},
    states::{DEAD, sql},
    tx_error::{corrupt, store_error},
    where_clause::Conditions,
};

/// A dead letter's position in the list: when it was given up, and its id.
type Place = (i64, Uuid);

impl PostgresStore {
    /// Returns a page. It ends before the dead letter that would make it too large.
    pub(super) async fn page_of_dead(
        &self,
        filter: &DeadFilter,
        request: &PageRequest,
    ) -> Result<Page<DeadLetter>> {
        let session = self.lists.next(filter.tenant).await?;
        let letters = Letters { session: &session, filter, order: request.order, ended: false };
        let budget = ScanBudget::new(self.max_scanned, request.max);
        let after = start(request.order, request.after.as_ref());
        let (found, next) = page(&letters, request.max, budget, after).await?;
        let keys: Vec<Key> = found.iter().map(|(key, _)| *key).collect();
        let count = letters.fitting(&keys, request.max_bytes).await?;
        let next = match found.get(count.wrapping_sub(1)) {
            Some((key, moved_at)) if count < found.len() => Some((*moved_at, uuid(key.1))),
            _ => next,
        };
        Ok(Page { rows: letters.read(&keys[..count]).await?, next: next.map(write_place) })
    }
}

/// A query for dead letters.
pub(super) struct Letters<'a> {
    pub session: &'a Session,
    pub filter: &'a DeadFilter,
    pub order: ListOrder,
    /// Whether to return only those whose deliveries have ended, so none that is being replayed.
    pub ended: bool,
}

impl RowScan for Letters<'_> {
    /// A key, with the time at which it was given up.
    type Row = (Key, i64);
    type Place = Place;

    async fn step(&self, after: Place, budget: i64) -> Result<Step<Self::Row, Place>> {
        let (sql, conditions) = scan_sql(self.filter, self.order, self.ended, after, budget);
        let found = query(self.session, &sql, &conditions.values()).await.map_err(store_error)?;
        let mut step = Step { found: Vec::new(), reached: None };
        for row in &found {
            let delivery: DeliveryId = rows::id(row, 1)?;
            let moved_at = rows::get(row, 2)?;
            let place = (moved_at, uuid(delivery));
            if rows::get(row, 3)? {
                step.found.push((((rows::id(row, 0)?, delivery), moved_at), place));
            }
            step.reached = Some(place).filter(|_| found.len() as i64 == budget);
        }
        Ok(step)
    }
}

/// Returns one step as SQL with its values: all rows that it scans, and whether they match.
pub(crate) fn scan_sql(
    filter: &DeadFilter,
    order: ListOrder,
    ended: bool,
    after: Place,
    budget: i64,
) -> (String, Conditions) {
    let mut conditions = Conditions::default();
    conditions.add_if("l.lane = ?", filter.lane.map(Lane::number));
    conditions.add_if("l.code = ?", filter.code.clone());
    conditions.add_if("l.code <> ?", filter.excluded_code());
    if filter.only_sendable {
        conditions.add_plain(&SENDABLE);
    }
    if ended {
        conditions.add_plain(sql!(
            "exists (select from deliveries d
                where d.tenant_id = l.tenant_id and d.id = l.delivery_id and d.state + 0 = {DEAD}
                offset 0)"
        ));
    }
    let fits = conditions.sql();
    let mut within = conditions.without_conditions();
    within.add_if("l.tenant_id = ?", filter.tenant.map(uuid));
    within.add_if("l.delivery_id = ?", filter.delivery.map(uuid));
    within.add_if("l.moved_at >= ?", filter.since.map(Time::micros));
    within.add_if("l.moved_at < ?", filter.until.map(Time::micros));
    let moved_at = within.value(after.0);
    let behind = match order {
        ListOrder::NewestFirst => "<",
        ListOrder::OldestFirst => ">",
    };
    within.add(&format!("(l.moved_at, l.delivery_id) {behind} ({moved_at}, ?)"), after.1);
    let budget = within.value(budget);
    let word = word(order);
    let sql = format!(
        "select l.tenant_id, l.delivery_id, l.moved_at, {fits} from (
           select * from dead_letters l where {}
           order by l.moved_at {word}, l.delivery_id {word} limit {budget}) l
         order by l.moved_at {word}, l.delivery_id {word}",
        within.sql()
    );
    (sql, within)
}

impl Letters<'_> {
    /// Returns how many of them fit on a page, by the sizes of their bodies. Bodies are not compressed, so
    /// their sizes are known without reading them.
    async fn fitting(&self, found: &[Key], max_bytes: usize) -> Result<usize> {
        let (tenants, ids) = columns(found);
        let sql = "select octet_length(p.body)
            from unnest($1::uuid[], $2::uuid[]) with ordinality as k(tenant, delivery, place)
            left join lateral (select d.parcel_id from deliveries d
                where d.tenant_id = k.tenant and d.id = k.delivery offset 0) d on true
            left join lateral (select p.body from parcels p
                where p.tenant_id = k.tenant and p.id = d.parcel_id offset 0) p on true
            order by k.place";
        let sizes = query(self.session, sql, &[&tenants, &ids]).await.map_err(store_error)?;
        let mut bytes = 0;
        for (count, row) in sizes.iter().enumerate() {
            bytes += rows::get::<Option<i32>>(row, 0)?.unwrap_or(0) as usize;
            if bytes > max_bytes && count > 0 {
                return Ok(count);
            }
        }
        Ok(found.len())
    }

    /// Reads dead letters in the order of the keys. The body of an event is read once, however many of its
    /// deliveries are on the page.
    async fn read(&self, keys: &[Key]) -> Result<Vec<DeadLetter>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let (tenants, ids) = columns(keys);
        let sql = format!(
            "select {} from unnest($1::uuid[], $2::uuid[]) with ordinality as k(tenant, delivery, place)
             cross join lateral (select * from dead_letters l
               where l.tenant_id = k.tenant and l.delivery_id = k.delivery offset 0) l
             cross join lateral (select d.target_id, d.parcel_id, d.created_at from deliveries d
               where d.tenant_id = k.tenant and d.id = k.delivery offset 0) d
             cross join lateral (select p.id, p.subject, p.event_type, p.external_id, p.is_test
               from parcels p
               where p.tenant_id = k.tenant and p.id = d.parcel_id offset 0) p
             order by k.place",
            LETTER.replace("p.body", "''::bytea")
        );
        let found = query(self.session, &sql, &[&tenants, &ids]).await.map_err(store_error)?;
        let mut letters = found.iter().map(dead_letter).collect::<Result<Vec<_>>>()?;
        let bodies = self.bodies(&letters).await?;
        for letter in &mut letters {
            let body = bodies.get(&letter.parcel).cloned();
            letter.original = body.ok_or_else(|| corrupt("a dead letter of nothing"))?;
        }
        Ok(letters)
    }

    async fn bodies(&self, letters: &[DeadLetter]) -> Result<HashMap<ParcelId, Bytes>> {
        let (tenants, ids): (Vec<Uuid>, Vec<Uuid>) =
            letters.iter().map(|letter| (uuid(letter.tenant), uuid(letter.parcel))).unzip();
        let sql = "select p.id, p.body
            from (select distinct tenant, id from unnest($1::uuid[], $2::uuid[]) as k(tenant, id)) k
            cross join lateral (select p.id, p.body from parcels p
                where p.tenant_id = k.tenant and p.id = k.id offset 0) p";
        let found = query(self.session, sql, &[&tenants, &ids]).await.map_err(store_error)?;
        found.iter().map(|row| Ok((rows::id(row, 0)?, rows::bytes(row, 1)?))).collect()
    }
}

fn columns(keys: &[Key]) -> (Vec<Uuid>, Vec<Uuid>) {
    keys.iter().map(|(tenant, id)| (uuid(*tenant), uuid(*id))).unzip()
}

/// Returns the position at which a page begins.
pub(super) fn start(order: ListOrder, after: Option<&[u8; 32]>) -> Place {
    after.map_or_else(
        || match order {
            ListOrder::NewestFirst => (i64::MAX, Uuid::max()),
            ListOrder::OldestFirst => (i64::MIN, Uuid::nil()),
        },
        read_place,
    )
}

pub(super) fn write_place((moved_at, delivery): Place) -> [u8; 32] {
    let mut place = [0; 32];
    place[..8].copy_from_slice(&moved_at.to_be_bytes());
    place[16..].copy_from_slice(delivery.as_bytes());
    place
}

fn read_place(place: &[u8; 32]) -> Place {
    let mut moved_at = [0; 8];
    moved_at.copy_from_slice(&place[..8]);
    let mut delivery = [0; 16];
    delivery.copy_from_slice(&place[16..]);
    let delivery: DeliveryId = Id::from_bytes(delivery);
    (i64::from_be_bytes(moved_at), uuid(delivery))
}

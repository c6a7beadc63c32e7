//! The statements that nearly every step runs, looked up once in a transaction of many steps: a look-up takes
//! a fifth of the time of running one.

use std::cell::{RefCell, RefMut};

use rusqlite::{CachedStatement, Connection};

use crate::states::{LEASED, sql};

pub(crate) struct Statements<'a> {
    db: &'a Connection,
    parcel: Slot<'a>,
    delivery: Slot<'a>,
    settled: Slot<'a>,
    attempt: Slot<'a>,
}

type Slot<'a> = RefCell<Option<CachedStatement<'a>>>;
type StatementResult<'s, 'a> = rusqlite::Result<RefMut<'s, CachedStatement<'a>>>;

impl<'a> Statements<'a> {
    pub fn new(db: &'a Connection) -> Self {
        let (parcel, delivery) = (Slot::default(), Slot::default());
        Self { db, parcel, delivery, settled: Slot::default(), attempt: Slot::default() }
    }

    pub fn insert_parcel(&self) -> StatementResult<'_, 'a> {
        self.find(
            &self.parcel,
            "INSERT INTO parcels (seq, tenant_id, id, kind, event_type, subject, external_id,
               number, is_test, deliveries, created_at, body, request, trace)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )
    }

    pub fn insert_delivery(&self) -> StatementResult<'_, 'a> {
        self.find(
            &self.delivery,
            "INSERT INTO deliveries (seq, tenant_id, id, lane, target_id, parcel, subject, number,
               state, attempts, attempts_before, lost_leases, due_at, owner, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, 0, 0, ?10, ?11, ?12)",
        )
    }

    /// Changes a delivery if the node still holds it.
    pub fn settle_delivery(&self) -> StatementResult<'_, 'a> {
        self.find(
            &self.settled,
            sql!(
                "UPDATE deliveries SET state = ?1, due_at = coalesce(?2, due_at),
                   attempts = coalesce(?3, attempts), lost_leases = 0
                 WHERE seq = ?4 AND state = {LEASED} AND owner = ?5 AND tenant_id = ?6"
            ),
        )
    }

    pub fn insert_attempt(&self) -> StatementResult<'_, 'a> {
        self.find(
            &self.attempt,
            "INSERT INTO attempts (delivery, number, started_at, latency_us, request_headers,
               response_status, response_headers, response_body, code, reason, next_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )
    }

    fn find<'s>(&self, slot: &'s Slot<'a>, sql: &str) -> StatementResult<'s, 'a> {
        let mut found = slot.borrow_mut();
        if found.is_none() {
            *found = Some(self.db.prepare_cached(sql)?);
        }
        RefMut::filter_map(found, Option::as_mut).map_err(|_| rusqlite::Error::InvalidQuery)
    }
}

//! Controls who may write which of a moving tenant's rows in the two cells. Triggers enforce it, so that no
//! statement can forget it. They are disabled if no tenant moves, and cost nothing then.

use std::time::Duration;

use gancho_store::{Result, StoreError};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{MOVED_TABLES, MoveRow};
use crate::{
    PostgresStore,
    rows::{self, uuid},
    session::{Session, Transaction, execute, query, query_one},
    states::sql,
    tx_error::{TxError, store_error},
};

/// Enabling a trigger waits for transactions that write to the table, while others wait for it. So these
/// tries wait only shortly and are repeated. A vacuum delays only the later tries, which are more patient.
const QUICK_TRIES: u32 = 20;
const PATIENT_TRIES: u32 = 40;
const TRY_AGAIN: Duration = Duration::from_millis(250);
/// How often closing checks whether the writers have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Tables that every event writes to. For a tenant that has left, nothing can be added to them without a
/// parcel, or there is nothing left to change.
const HOT: [&str; 6] = ["deliveries", "attempts", "spans", "subjects", "once_keys", "dead_letters"];

// The states of `moving_tenants`, which its trigger uses too.
const LIVES_HERE: i16 = 0;
const LEAVING: i16 = 1;
const CLOSED: i16 = 2;
const ARRIVING: i16 = 3;
const LEFT: i16 = 4;

/// The state in which a run may change rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WritableState {
    /// In the new cell.
    Arriving,
    /// In the old cell.
    Closed,
}

impl PostgresStore {
    /// Guards the old cell: records changes from here on. Reopens a tenant that an earlier run has closed.
    pub async fn guard_departure(&self, of: &MoveRow) -> Result<()> {
        let guard = sql!(
            "insert into moving_tenants as m (tenant_id, state, run) values ($1, {LEAVING}, $2)
            on conflict (tenant_id) do update set run = $2, state = {LEAVING} where m.run <= $2"
        );
        self.put_guard(guard, of, &[LEAVING, CLOSED]).await
    }

    /// Guards the new cell: only this run can change the tenant's rows.
    pub async fn guard_arrival(&self, of: &MoveRow) -> Result<()> {
        let guard = sql!(
            "insert into moving_tenants as m (tenant_id, state, run) values ($1, {ARRIVING}, $2)
            on conflict (tenant_id) do update set run = $2, state = {ARRIVING} where m.run <= $2"
        );
        self.put_guard(guard, of, &[ARRIVING]).await
    }

    /// Keeps the guard of an earlier run that has closed the tenant here, or has copied it to here. Returns
    /// whether there may be rows to remove.
    pub async fn keep_guard(&self, of: &MoveRow) -> Result<bool> {
        self.take_over_guard(of, &[CLOSED, ARRIVING]).await
    }

    /// Puts the guard. If an earlier run of the move has reached the copying, its guard in one of `states` is
    /// still valid: its triggers stay enabled as long as it exists.
    async fn put_guard(&self, guard: &str, of: &MoveRow, states: &[i16]) -> Result<()> {
        let put = async {
            let transaction = Transaction::begin(self.session().await?).await?;
            let session = transaction.session()?;
            lock_triggers(session).await?;
            let known = "select from moving_tenants where tenant_id = $1 and state = any ($2)";
            let was_there = !query(session, known, &[&uuid(of.tenant), &states]).await?.is_empty();
            if execute(session, guard, &[&uuid(of.tenant), &of.run]).await? == 0 {
                return Err(taken_over().into());
            }
            transaction.commit().await?;
            Ok::<_, TxError>(was_there)
        };
        if put.await.map_err(TxError::into_error)? && !of.place.is_empty() {
            return Ok(());
        }
        // After the row exists: when a table's trigger is enabled, transactions that have written to the
        // table before have ended.
        for table in MOVED_TABLES {
            self.enable_guard(table.name).await?;
        }
        Ok(())
    }

    async fn enable_guard(&self, table: &str) -> Result<()> {
        let mut tries = 0;
        loop {
            tries += 1;
            let wait = if tries <= QUICK_TRIES { "300ms" } else { "1500ms" };
            let enabled = async {
                let transaction = Transaction::begin(self.session().await?).await?;
                let sql = format!(
                    "set local lock_timeout = '{wait}'; alter table {table} enable trigger a_moving_tenant"
                );
                transaction.session()?.batch_execute(&sql).await?;
                transaction.commit().await?;
                Ok::<_, TxError>(())
            };
            match enabled.await {
                Err(_) if tries < QUICK_TRIES + PATIENT_TRIES => sleep(TRY_AGAIN).await,
                done => return done.map_err(TxError::into_error),
            }
        }
    }

    /// Closes the tenant: afterwards nobody can write its rows, and all writers have ended. If they take
    /// longer than `patience`, reopens it and returns false.
    pub async fn close_departure(&self, of: &MoveRow, patience: Duration) -> Result<bool> {
        if !self.set_guard(of, &[LEAVING, CLOSED], CLOSED).await? {
            return Err(taken_over());
        }
        let until = Instant::now() + patience;
        // Does not wait for the lock: others would wait behind it, some of them with rows that its holders
        // need.
        let sql = "select pg_try_advisory_xact_lock(1735290991, hashtext($1::uuid::text))";
        loop {
            let session = self.session().await?;
            let row = query_one(&session, sql, &[&uuid(of.tenant)]).await.map_err(store_error)?;
            if rows::get(&row, 0)? {
                return Ok(true);
            }
            if Instant::now() >= until {
                self.set_guard(of, &[CLOSED], LEAVING).await?;
                return Ok(false);
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Reopens the tenant before the directory has changed: it can be written again, and changes are recorded
    /// as before. Also if an earlier run has closed it.
    pub async fn reopen_departure(&self, of: &MoveRow) -> Result<()> {
        let sql = sql!(
            "update moving_tenants set state = {LEAVING}, run = $2
            where tenant_id = $1 and run <= $2 and state = {CLOSED}"
        );
        let session = self.session().await?;
        let reopened = execute(&session, sql, &[&uuid(of.tenant), &of.run]).await;
        reopened.map(drop).map_err(store_error)
    }

    /// Takes over the guard of an earlier run in the new cell, where nobody writes yet. Returns whether there
    /// was one.
    pub async fn keep_arrival(&self, of: &MoveRow) -> Result<bool> {
        self.take_over_guard(of, &[ARRIVING]).await
    }

    async fn take_over_guard(&self, of: &MoveRow, states: &[i16]) -> Result<bool> {
        let sql = "update moving_tenants set run = $2
            where tenant_id = $1 and run <= $2 and state = any ($3)";
        let session = self.session().await?;
        let taken = execute(&session, sql, &[&uuid(of.tenant), &of.run, &states]).await;
        Ok(taken.map_err(store_error)? > 0)
    }

    /// Removes the guard in the cell where the tenant lives: the new one after its arrival, or the old one if
    /// it stays.
    pub async fn lift_guard(&self, of: &MoveRow) -> Result<()> {
        let session = self.session().await?;
        let sql = sql!(
            "insert into moving_tenants as m (tenant_id, state, run) values ($1, {LIVES_HERE}, $2)
            on conflict (tenant_id) do update set state = {LIVES_HERE}, run = $2 where m.run <= $2"
        );
        execute(&session, sql, &[&uuid(of.tenant), &of.run]).await.map_err(store_error)?;
        drop(session);
        self.bells.ring_all();
        self.disable_guards().await
    }

    /// Marks the tenant as left in the old cell, where nothing of it remains.
    pub async fn mark_left(&self, of: &MoveRow) -> Result<()> {
        if !self.set_guard(of, &[CLOSED, ARRIVING, LEFT], LEFT).await? {
            return Err(taken_over());
        }
        self.disable_guards().await
    }

    async fn set_guard(&self, of: &MoveRow, from: &[i16], to: i16) -> Result<bool> {
        let sql = "update moving_tenants set state = $4
            where tenant_id = $1 and run = $2 and state = any ($3)";
        let session = self.session().await?;
        let set = execute(&session, sql, &[&uuid(of.tenant), &of.run, &from, &to]).await;
        Ok(set.map_err(store_error)? > 0)
    }

    /// Disables the triggers that cost something, if no tenant moves any more.
    async fn disable_guards(&self) -> Result<()> {
        for table in HOT {
            let disabled = async {
                let transaction = Transaction::begin(self.session().await?).await?;
                let session = transaction.session()?;
                lock_triggers(session).await?;
                let moving = sql!(
                    "select from moving_tenants where state not in ({LIVES_HERE}, {LEFT}) limit 1"
                );
                if query(session, moving, &[]).await?.is_empty() {
                    let sql = format!(
                        "set local lock_timeout = '300ms'; alter table {table} disable trigger a_moving_tenant"
                    );
                    session.batch_execute(&sql).await?;
                    transaction.commit().await?;
                }
                Ok::<_, TxError>(())
            };
            // They cost little, and the next move that ends here tries again.
            if let Err(error) = disabled.await {
                let error = error.into_error();
                tracing::debug!(table, %error, "could not disable a trigger of moves");
            }
        }
        Ok(())
    }
}

/// Serializes putting a guard and disabling triggers because there is none.
async fn lock_triggers(session: &Session) -> Result<(), TxError> {
    query(session, "select pg_advisory_xact_lock(1735290992, hashtext(current_schema()))", &[])
        .await
        .map(drop)
}

/// Lets this transaction write to guarded rows, if this run is the last and the tenant is in the right state.
/// Both stay so until the transaction has ended.
pub(crate) async fn enter(
    session: &Session,
    tenant: Uuid,
    run: i64,
    as_it_is: WritableState,
) -> Result<(), TxError> {
    let state = match as_it_is {
        WritableState::Arriving => ARRIVING,
        WritableState::Closed => CLOSED,
    };
    session.batch_execute("set local gancho.move = 'on'").await?;
    let sql =
        "select from moving_tenants where tenant_id = $1 and run = $2 and state = $3 for share";
    if query(session, sql, &[&tenant, &run, &state]).await?.is_empty() {
        return Err(taken_over().into());
    }
    Ok(())
}

/// Another run has the move, and continues it.
pub(crate) fn taken_over() -> StoreError {
    StoreError::Refused("another node has taken the move over".to_owned())
}

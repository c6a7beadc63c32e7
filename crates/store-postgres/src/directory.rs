//! The directory of a store that consists of several databases (cells): the cells, and which tenant lives in
//! which. It is in one of them, the home cell, whose number is 0.

use std::time::Duration;

use gancho_domain::TenantId;
use gancho_store::{Result, StoreError};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

use crate::{
    PostgresStore,
    moves::{DONE, TAKEN_BACK},
    rows::{self, text, uuid},
    session::{Session, Transaction, execute, query},
    states::sql,
    tx_error::{TxError, store_error},
};

/// A database of the gateway besides the home cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellRow {
    /// The number of the cell, counted from 1. Never used twice.
    pub number: u32,
    pub name: String,
    /// The URL, encrypted because it may contain a password.
    pub url: Vec<u8>,
    pub state: CellState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellState {
    /// Takes new tenants.
    Active,
    /// Takes no new tenants.
    Draining,
}

/// Where a tenant lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    pub tenant: TenantId,
    pub slug: String,
    pub cell: u32,
    pub state: PlacementState,
}

impl Placement {
    /// Whether it is in two cells.
    pub fn is_moving(&self) -> bool {
        matches!(self.state, PlacementState::Moving | PlacementState::Leaving)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlacementState {
    /// The tenant may not be in the cell yet.
    Creating,
    Active,
    /// The slug is free; the cell removes the rest of the tenant's data.
    Deleted,
    /// It is being moved to another cell, or was and is not removed from the old one yet.
    Moving,
    /// It is about to move to another cell: none of its deliveries is leased any more.
    Leaving,
}

/// The outcome of reserving a slug.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reservation {
    Reserved,
    /// Another tenant has the slug, or the tenant exists already.
    Taken(Placement),
}

const CELL_ACTIVE: i16 = CellState::Active.number();
const CELL_DRAINING: i16 = CellState::Draining.number();
pub(crate) const CREATING: i16 = PlacementState::Creating.number();
pub(crate) const ACTIVE: i16 = PlacementState::Active.number();
pub(crate) const DELETED: i16 = PlacementState::Deleted.number();
pub(crate) const MOVING: i16 = PlacementState::Moving.number();
pub(crate) const LEAVING: i16 = PlacementState::Leaving.number();

impl CellState {
    const ALL: [Self; 2] = [Self::Active, Self::Draining];

    const fn number(self) -> i16 {
        match self {
            Self::Active => 1,
            Self::Draining => 2,
        }
    }
}

impl PlacementState {
    const ALL: [Self; 5] =
        [Self::Creating, Self::Active, Self::Deleted, Self::Moving, Self::Leaving];

    const fn number(self) -> i16 {
        match self {
            Self::Creating => 1,
            Self::Active => 2,
            Self::Deleted => 3,
            Self::Moving => 4,
            Self::Leaving => 5,
        }
    }
}

/// How far changes are searched before the last search, because a transaction may commit late.
const OVERLAP: Duration = Duration::from_secs(60);
const PLACEMENT: &str = "tenant_id, slug, cell, state";

impl PostgresStore {
    /// Returns the cells in the order in which they were added.
    pub async fn cells(&self) -> Result<Vec<CellRow>> {
        let session = self.session().await?;
        let sql = "select number, name, url, state from cells order by number";
        query(&session, sql, &[]).await.map_err(store_error)?.iter().map(cell).collect()
    }

    /// Adds a cell and returns its number. Fails with [`StoreError::Taken`] if there is one of this name.
    pub async fn add_cell(&self, name: &str, url: &[u8]) -> Result<u32> {
        let session = self.session().await?;
        let sql = "insert into cells (name, url) values ($1, $2) returning number";
        match query(&session, sql, &[&text(name), &url]).await {
            Ok(added) => number(added.first(), 0),
            Err(error) => Err(match error.into_error() {
                StoreError::Taken(_) => StoreError::Taken(name.to_owned()),
                other => other,
            }),
        }
    }

    /// Changes the state of a cell. Returns whether the cell exists.
    pub async fn set_cell_state(&self, name: &str, state: CellState) -> Result<bool> {
        let session = self.session().await?;
        let sql = "update cells set state = $2 where name = $1";
        let changed = execute(&session, sql, &[&text(name), &state.number()]).await;
        Ok(changed.map_err(store_error)? > 0)
    }

    /// Replaces the URL of a cell if it still is `before`.
    pub async fn change_cell_url(&self, name: &str, before: &[u8], url: &[u8]) -> Result<bool> {
        let session = self.session().await?;
        let sql = "update cells set url = $3 where name = $1 and url = $2";
        let changed = execute(&session, sql, &[&text(name), &before, &url]).await;
        Ok(changed.map_err(store_error)? > 0)
    }

    /// Removes a cell that gets no tenants, in which none lives, and from or to which none moves. Returns whether it did.
    pub async fn remove_cell(&self, name: &str) -> Result<bool> {
        self.remove_cell_once(name).await.map_err(TxError::into_error)
    }

    async fn remove_cell_once(&self, name: &str) -> Result<bool, TxError> {
        let transaction = Transaction::begin(self.session().await?).await?;
        let session = transaction.session()?;
        // Those who put a tenant there hold the row while they do. The second statement sees what they have done.
        let held = "select from cells where name = $1 for update";
        let removed = sql!(
            "delete from cells c where name = $1 and state = {CELL_DRAINING}
            and not exists (select from cell_tenants t where t.cell = c.number)
            and not exists (select from moves m where c.number in (m.source, m.target)
                and m.step not in ({DONE}, {TAKEN_BACK}))"
        );
        query(session, held, &[&text(name)]).await?;
        let is_removed = execute(session, removed, &[&text(name)]).await? > 0;
        transaction.commit().await?;
        Ok(is_removed)
    }

    /// Adds the tenants that were in this database before there were cells, and forgets those that were deleted while there
    /// were none.
    pub async fn adopt_tenants(&self) -> Result<u64> {
        let session = self.session().await?;
        let forgotten = sql!(
            "delete from cell_tenants c where c.cell = 0 and c.state = {ACTIVE}
            and not exists (select from tenants t where t.tenant_id = c.tenant_id)"
        );
        execute(&session, forgotten, &[]).await.map_err(store_error)?;
        let sql = sql!(
            "insert into cell_tenants (tenant_id, slug, cell, state)
            select t.tenant_id, t.slug, 0, {ACTIVE} from tenants t
            where not exists (select from cell_tenants c where c.tenant_id = t.tenant_id)
            on conflict do nothing"
        );
        execute(&session, sql, &[]).await.map_err(store_error)
    }

    pub async fn placement(&self, tenant: TenantId) -> Result<Option<Placement>> {
        let session = self.session().await?;
        let sql = format!("select {PLACEMENT} from cell_tenants where tenant_id = $1");
        let found = query(&session, &sql, &[&uuid(tenant)]).await.map_err(store_error)?;
        found.first().map(placement).transpose()
    }

    /// Returns the placement of the tenant with this slug.
    pub async fn placement_of_slug(&self, slug: &str) -> Result<Option<Placement>> {
        let session = self.session().await?;
        let sql =
            format!("select {PLACEMENT} from cell_tenants where slug = $1 and state <> {DELETED}");
        let found = query(&session, &sql, &[&text(slug)]).await.map_err(store_error)?;
        found.first().map(placement).transpose()
    }

    /// Returns at most `max` placements by tenant, after `after`.
    pub async fn placements(&self, after: Option<TenantId>, max: usize) -> Result<Vec<Placement>> {
        let session = self.session().await?;
        let sql = format!(
            "select {PLACEMENT} from cell_tenants where tenant_id > $1 order by tenant_id limit $2"
        );
        let after = after.map_or(Uuid::nil(), uuid);
        let found = query(&session, &sql, &[&after, &(max as i64)]).await.map_err(store_error)?;
        found.iter().map(placement).collect()
    }

    /// Returns placements that have changed within this time, and a little longer.
    pub async fn changed_placements(&self, within: Duration) -> Result<Vec<Placement>> {
        let session = self.session().await?;
        let sql = format!(
            "select {PLACEMENT} from cell_tenants
             where changed_at > clock_timestamp() - $1::float8 * interval '1 second'"
        );
        let within = (within + OVERLAP).as_secs_f64();
        let found = query(&session, &sql, &[&within]).await.map_err(store_error)?;
        found.iter().map(placement).collect()
    }

    /// Returns at most `max` tenants that live in a cell, by slug, after `after`.
    pub async fn placements_in(
        &self,
        cell: u32,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Placement>> {
        let session = self.session().await?;
        let sql = format!(
            "select {PLACEMENT} from cell_tenants
             where cell = $1 and state <> {DELETED} and slug > $2 order by slug limit $3"
        );
        let after = text(after.unwrap_or_default());
        let values: [&(dyn ToSql + Sync); 3] = [&(cell as i32), &after, &(max as i64)];
        let found = query(&session, &sql, &values).await.map_err(store_error)?;
        found.iter().map(placement).collect()
    }

    /// Returns how many tenants live in each cell that has any.
    pub async fn tenants_per_cell(&self) -> Result<Vec<(u32, u64)>> {
        let session = self.session().await?;
        let sql =
            sql!("select cell, count(*) from cell_tenants where state <> {DELETED} group by cell");
        let found = query(&session, sql, &[]).await.map_err(store_error)?;
        let count = |row: &Row| Ok((number(Some(row), 0)?, rows::get::<i64>(row, 1)? as u64));
        found.iter().map(count).collect()
    }

    /// Reserves a slug for a tenant that is about to be created.
    pub async fn reserve_tenant(
        &self,
        tenant: TenantId,
        slug: &str,
        cell: u32,
    ) -> Result<Reservation> {
        let session = self.session().await?;
        // Holds the row of the cell, which may be about to be removed.
        let insert = sql!(
            "with open as (select from cells where number = $3 and state = {CELL_ACTIVE} for share)
            insert into cell_tenants (tenant_id, slug, cell, state)
            select $1, $2, $3, {CREATING} where $3 = 0 or exists (select from open)
            on conflict do nothing"
        );
        let (id, slug, cell) = (uuid(tenant), text(slug), cell as i32);
        if execute(&session, insert, &[&id, &slug, &cell]).await.map_err(store_error)? > 0 {
            return Ok(Reservation::Reserved);
        }
        let sql = format!(
            "(select {PLACEMENT} from cell_tenants where slug = $1 and state <> {DELETED})
             union all (select {PLACEMENT} from cell_tenants where tenant_id = $2) limit 1"
        );
        let found = query(&session, &sql, &[&slug, &id]).await.map_err(store_error)?;
        let found = found.first().map(placement).transpose()?;
        found.map(Reservation::Taken).ok_or_else(|| {
            StoreError::Unavailable(
                "the slug was in use, or the cell got tenants, a moment ago: try again".into(),
            )
        })
    }

    /// Frees a slug that was reserved at least this long ago, for a tenant that was not created. Returns
    /// whether it did.
    pub async fn release_reservation(&self, tenant: TenantId, age: Duration) -> Result<bool> {
        let session = self.session().await?;
        let sql = sql!(
            "delete from cell_tenants where tenant_id = $1 and state = {CREATING}
            and changed_at <= clock_timestamp() - $2::float8 * interval '1 second'"
        );
        let values: [&(dyn ToSql + Sync); 2] = [&uuid(tenant), &age.as_secs_f64()];
        Ok(execute(&session, sql, &values).await.map_err(store_error)? > 0)
    }

    /// Stores the placement of a tenant that is in the state `from`, in the same cell, or has none. Returns whether it did:
    /// the tenant may have been moved or deleted meanwhile.
    pub async fn change_placement(
        &self,
        placement: &Placement,
        from: PlacementState,
    ) -> Result<bool> {
        let session = self.session().await?;
        let sql =
            "insert into cell_tenants as t (tenant_id, slug, cell, state) values ($1, $2, $3, $4)
            on conflict (tenant_id) do update set state = $4, changed_at = clock_timestamp()
            where t.cell = $3 and t.state = $5";
        let Placement { tenant, slug, cell, state } = placement;
        let values: [&(dyn ToSql + Sync); 5] =
            [&uuid(*tenant), &text(slug), &(*cell as i32), &state.number(), &from.number()];
        Ok(execute(&session, sql, &values).await.map_err(store_error)? > 0)
    }

    /// Notes that a tenant was deleted in this cell. Returns whether it did: a tenant that is being moved is
    /// not, until its move is over.
    pub async fn mark_deleted(&self, tenant: TenantId, cell: u32) -> Result<bool> {
        let session = self.session().await?;
        let sql = sql!(
            "update cell_tenants set state = {DELETED}, changed_at = clock_timestamp()
            where tenant_id = $1 and cell = $2 and state not in ({MOVING}, {LEAVING})"
        );
        let marked = execute(&session, sql, &[&uuid(tenant), &(cell as i32)]).await;
        Ok(marked.map_err(store_error)? > 0)
    }

    /// Forgets a deleted tenant.
    pub async fn forget_placement(&self, tenant: TenantId) -> Result<()> {
        let session = self.session().await?;
        let sql = sql!("delete from cell_tenants where tenant_id = $1 and state = {DELETED}");
        execute(&session, sql, &[&uuid(tenant)]).await.map(drop).map_err(store_error)
    }
}

/// Holds the row of a cell until the transaction ends, so that it is not removed. Returns whether the cell gets tenants.
pub(crate) async fn holds_open(session: &Session, cell: i32) -> Result<bool, TxError> {
    let sql = sql!("select from cells where number = $1 and state = {CELL_ACTIVE} for share");
    Ok(cell == 0 || !query(session, sql, &[&cell]).await?.is_empty())
}

fn number(row: Option<&Row>, column: usize) -> Result<u32> {
    let number = row.map(|row| rows::get::<i32>(row, column)).transpose()?;
    let number = number.and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| StoreError::Corrupt("a cell has no number".into()))
}

fn cell(row: &Row) -> Result<CellRow> {
    let state = rows::get::<i16>(row, 3)?;
    let known = CellState::ALL.into_iter().find(|known| known.number() == state);
    let state =
        known.ok_or_else(|| StoreError::Corrupt(format!("no state of a cell is {state}")))?;
    let (number, name) = (number(Some(row), 0)?, rows::get(row, 1)?);
    Ok(CellRow { number, name, url: rows::get(row, 2)?, state })
}

fn placement(row: &Row) -> Result<Placement> {
    let state = rows::get::<i16>(row, 3)?;
    let known = PlacementState::ALL.into_iter().find(|known| known.number() == state);
    let state =
        known.ok_or_else(|| StoreError::Corrupt(format!("no state of a placement is {state}")))?;
    let (tenant, slug) = (rows::id(row, 0)?, rows::get(row, 1)?);
    Ok(Placement { tenant, slug, cell: number(Some(row), 2)?, state })
}

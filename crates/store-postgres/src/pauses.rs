//! Pauses. Columns that a kind of pause does not use are zero.

use async_trait::async_trait;
use gancho_domain::Time;
use gancho_store::{Pause, Pauses, Result};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    PostgresStore,
    rows::{self, uuid},
    session::{execute, query},
    tx_error::{corrupt, store_error},
};

#[async_trait]
impl Pauses for PostgresStore {
    async fn pause(&self, what: Pause, now: Time) -> Result<()> {
        let session = self.session_of(what.tenant()).await?;
        let (kind, lane, tenant, target) = key(what);
        execute(
            &session,
            "insert into pauses (kind, lane, tenant_id, target_id, since)
             values ($1, $2, $3, $4, $5) on conflict do nothing",
            &[&kind, &lane, &tenant, &target, &now.micros()],
        )
        .await
        .map_err(store_error)?;
        Ok(())
    }

    async fn resume(&self, what: Pause) -> Result<()> {
        let session = self.session_of(what.tenant()).await?;
        let (kind, lane, tenant, target) = key(what);
        execute(
            &session,
            "delete from pauses
             where kind = $1 and lane = $2 and tenant_id = $3 and target_id = $4",
            &[&kind, &lane, &tenant, &target],
        )
        .await
        .map_err(store_error)?;
        self.bells.ring_all();
        Ok(())
    }

    async fn pauses(&self) -> Result<Vec<Pause>> {
        let session = self.session().await?;
        let sql = "select kind, lane, tenant_id, target_id from pauses order by 1, 2, 3, 4";
        let found = query(&session, sql, &[]).await.map_err(store_error)?;
        found.iter().map(pause).collect()
    }
}

const NONE: Uuid = Uuid::nil();
const OF_LANE: i16 = 1;
const OF_TENANT: i16 = 2;
pub(crate) const OF_ENDPOINT: i16 = 3;
/// The lane of a pause of a tenant or an endpoint, which has none.
pub(crate) const NO_LANE: i16 = 0;

fn key(what: Pause) -> (i16, i16, Uuid, Uuid) {
    match what {
        Pause::Lane(lane) => (OF_LANE, lane.number(), NONE, NONE),
        Pause::Tenant(tenant) => (OF_TENANT, NO_LANE, uuid(tenant), NONE),
        Pause::Endpoint(tenant, endpoint) => (OF_ENDPOINT, NO_LANE, uuid(tenant), uuid(endpoint)),
    }
}

fn pause(row: &Row) -> Result<Pause> {
    match rows::get::<i16>(row, 0)? {
        OF_LANE => Ok(Pause::Lane(rows::lane(row, 1)?)),
        OF_TENANT => Ok(Pause::Tenant(rows::id(row, 2)?)),
        OF_ENDPOINT => Ok(Pause::Endpoint(rows::id(row, 2)?, rows::id(row, 3)?)),
        kind => Err(corrupt(format!("no kind of pause has the number {kind}"))),
    }
}

//! Checks whether a gateway could write to a server, for operators who want to know before it fails.

use deadpool_postgres::Object;
use gancho_domain::Time;
use gancho_store::{Result, StoreError};

use crate::{
    database_url::DatabaseUrl, migrations::transaction, open, schema, session,
    tx_error::store_error,
};

/// Takes 1 MiB of space and gives it back. A read-only server refuses it, and so does one whose disk is full.
const PROBE: &str = "create temporary table gancho_probe on commit drop as
    select repeat(md5(i::text), 32) as filler from generate_series(1, 1024) as i";

/// Whether the role may write to the tables.
const RIGHTS: &str = "select has_table_privilege('parcels', 'insert') and has_table_privilege('deliveries', 'insert')
    and has_table_privilege('deliveries', 'update') and has_table_privilege('deliveries', 'delete'),
    (extract(epoch from clock_timestamp()) * 1000000)::bigint";

/// Fails as a gateway would fail at its start or when it writes. Changes nothing. Returns the time of the
/// server.
pub async fn check_writable(url: &str) -> Result<Time> {
    let url = DatabaseUrl::parse(url)?;
    let mut client = connect(&url).await?;
    let step = transaction(&mut client).await?;
    open::check(&step).await?;
    let tables = schema::find(&step, url.schema.as_deref()).await?;
    step.batch_execute(&schema::local_search_path(&tables)).await.map_err(store_error)?;
    let row = step.query_one(RIGHTS, &[]).await.map_err(store_error)?;
    let (may_write, now): (bool, i64) = (row.get(0), row.get(1));
    if !may_write {
        return Err(StoreError::Refused(
            "this role may not write to the tables: use the role that owns them".to_owned(),
        ));
    }
    step.batch_execute(PROBE).await.map_err(store_error)?;
    step.rollback().await.map_err(store_error)?;
    Ok(Time::from_micros(now))
}

/// Fails if the role may not create the tables or their schema.
pub async fn check_may_create(url: &str) -> Result<()> {
    let url = DatabaseUrl::parse(url)?;
    let mut client = connect(&url).await?;
    let step = transaction(&mut client).await?;
    let schema = schema::find(&step, url.schema.as_deref()).await?;
    let sql = "select case when exists (select from pg_namespace where nspname = $1)
        then has_schema_privilege($1, 'create')
        else has_database_privilege(current_database(), 'create') end";
    let may_create: bool = step.query_one(sql, &[&schema]).await.map_err(store_error)?.get(0);
    if may_create {
        return Ok(());
    }
    Err(StoreError::Refused(format!("this role may not create tables in the schema {schema}")))
}

/// Opens a connection without settings.
async fn connect(url: &DatabaseUrl) -> Result<Object> {
    session::of(&session::connections(&url.server()?, 1, String::new())?).await
}

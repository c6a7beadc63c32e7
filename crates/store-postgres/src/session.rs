//! How every connection is set up.

use std::time::Duration;

use deadpool_postgres::{
    ClientWrapper, Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime,
};
use gancho_store::{Result, StoreError};
use tokio_postgres::{Config, Error, Row, types::ToSql};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::fault::pool_error;

/// Every statement here finds its rows through an index. A plan made while a table was empty would
/// prefer to read it whole, and would be kept until the table is analysed: ten times the work. So
/// these sessions have no plans to choose from but nested loops over indexes.
///
/// A batch of parameters is a few MiB and must not go through a file, hence `work_mem`. A session
/// that lost its client inside a transaction must not hold its locks for ever. Opening refuses a
/// server with `synchronous_commit = off`; one that is set so later is overruled.
pub(crate) const SETTINGS: &str = "
    set enable_seqscan = off;
    set enable_hashjoin = off;
    set enable_mergejoin = off;
    set enable_bitmapscan = off;
    set plan_cache_mode = force_generic_plan;
    set jit = off;
    set work_mem = '32MB';
    set idle_in_transaction_session_timeout = '5s';
    set client_min_messages = warning;
    select set_config('synchronous_commit', 'on', false)
        where current_setting('synchronous_commit') = 'off'";

const LONGEST_WAIT: Duration = Duration::from_secs(5);

pub(crate) fn pool(config: &Config, tls: &MakeRustlsConnect, size: usize) -> Result<Pool> {
    let manager = Manager::from_config(
        config.clone(),
        tls.clone(),
        ManagerConfig { recycling_method: RecyclingMethod::Fast },
    );
    Pool::builder(manager)
        .max_size(size)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(LONGEST_WAIT))
        .create_timeout(Some(LONGEST_WAIT))
        .post_create(Hook::async_fn(|client, _| {
            Box::pin(async move {
                let set = client.batch_execute(SETTINGS).await;
                set.map_err(HookError::Backend)
            })
        }))
        .build()
        .map_err(|error| StoreError::Refused(error.to_string()))
}

pub(crate) async fn of(pool: &Pool) -> Result<Object> {
    pool.get().await.map_err(|error| pool_error(&error))
}

/// Runs a statement that is prepared once per connection.
pub(crate) async fn query(
    session: &ClientWrapper,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, Error> {
    let statement = session.prepare_cached(sql).await?;
    session.query(&statement, values).await
}

/// The same, for the number of rows touched.
pub(crate) async fn execute(
    session: &ClientWrapper,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<u64, Error> {
    let statement = session.prepare_cached(sql).await?;
    session.execute(&statement, values).await
}

/// A transaction of several statements on a connection of the pool. If it is dropped before its end,
/// as when its caller gives up, the connection goes with it and the server undoes it.
pub(crate) struct Transaction(Option<Object>);

impl Transaction {
    pub(crate) async fn begin(session: Object) -> Result<Self, Error> {
        // Inside the guard before it is sent.
        let transaction = Self(Some(session));
        if let Some(session) = &transaction.0 {
            session.batch_execute("begin").await?;
        }
        Ok(transaction)
    }

    pub(crate) fn session(&self) -> Result<&ClientWrapper> {
        let session = self.0.as_ref().map(AsRef::as_ref);
        session.ok_or_else(|| StoreError::Broken("a transaction was used after its end".to_owned()))
    }

    pub(crate) async fn commit(mut self) -> Result<(), Error> {
        if let Some(session) = &self.0 {
            session.batch_execute("commit").await?;
        }
        // Back to the pool, not through the guard.
        drop(self.0.take());
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(session) = self.0.take() {
            drop(Object::take(session));
        }
    }
}

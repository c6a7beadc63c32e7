//! How every connection is set up.

use std::{ops::Deref, time::Duration};

use deadpool_postgres::{
    ClientWrapper, Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime,
};
use gancho_domain::TenantId;
use gancho_store::{FairPermit, FairSemaphore, Result, StoreError};
use tokio_postgres::{Config, Error, Row, types::ToSql};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::tx_error::pool_error;

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

/// For sessions that read lists, besides [`SETTINGS`]. A page is read in short statements; this is for
/// a server that takes very long for one.
pub(crate) const OF_LISTS: &str = "set statement_timeout = '10s'";

const MAX_WAIT: Duration = Duration::from_secs(5);

/// `settings` come after [`SETTINGS`].
pub(crate) fn pool(
    config: &Config,
    tls: &MakeRustlsConnect,
    size: usize,
    settings: &str,
) -> Result<Pool> {
    let settings = format!("{SETTINGS};\n{settings}");
    let manager = Manager::from_config(
        config.clone(),
        tls.clone(),
        ManagerConfig { recycling_method: RecyclingMethod::Fast },
    );
    Pool::builder(manager)
        .max_size(size)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(MAX_WAIT))
        .create_timeout(Some(MAX_WAIT))
        .post_create(Hook::async_fn(move |client, _| {
            let settings = settings.clone();
            Box::pin(
                async move { client.batch_execute(&settings).await.map_err(HookError::Backend) },
            )
        }))
        .build()
        .map_err(|error| StoreError::Refused(error.to_string()))
}

/// A connection on the account of a tenant, which holds a permit until it is returned.
pub(crate) struct Turn {
    session: Object,
    _permit: FairPermit,
}

impl Deref for Turn {
    type Target = ClientWrapper;

    fn deref(&self) -> &ClientWrapper {
        &self.session
    }
}

/// Connections that tenants take in turn.
pub(crate) struct Turns {
    pool: Pool,
    permits: FairSemaphore,
}

impl Turns {
    /// Of the connections of a pool, one tenant has half at most.
    pub(crate) fn new(pool: Pool, count: usize) -> Self {
        let count = u32::try_from(count.max(1)).unwrap_or(u32::MAX);
        Self { pool, permits: FairSemaphore::new(count, count.div_ceil(2)) }
    }

    /// Without a tenant the connection counts for the shared account.
    pub(crate) async fn next(&self, tenant: Option<TenantId>) -> Result<Turn> {
        let permit = self.permits.acquire(tenant).await?;
        Ok(Turn { session: of(&self.pool).await?, _permit: permit })
    }
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

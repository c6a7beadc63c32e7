//! Sets up connections, and runs statements on them.

#[cfg(test)]
use std::ops::Deref;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime,
};
use gancho_store::{Account, FairPermit, FairSemaphore, Result, StoreError};
use tokio_postgres::{
    CopyInSink, CopyOutStream, Error, Row,
    types::{ToSql, Type},
};

use crate::{
    database_url::Server,
    pooler::ParameterTypes,
    replica::Replica,
    tx_error::{TxError, corrupt, pool_error},
};

/// The settings of every session.
///
/// Every statement in this crate finds its rows by an index. A plan made while a table was empty would prefer
/// to read it completely, and would be kept until the table is analyzed: ten times the work. So these
/// sessions allow only plans with nested loops over indexes. PostgreSQL 18 would still evaluate an `exists`
/// below an `and`, `or` or `not` by reading the whole table once; `offset 0` in it prevents that.
///
/// A batch of parameters is a few MiB and must not go through a file, hence `work_mem`. A session that lost
/// its client inside a transaction must not hold its locks forever.
const SETTINGS: [(&str, &str); 9] = [
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_bitmapscan", "off"),
    ("plan_cache_mode", "force_generic_plan"),
    ("jit", "off"),
    ("work_mem", "32MB"),
    ("idle_in_transaction_session_timeout", "5s"),
    ("client_min_messages", "warning"),
];

/// Overrules `synchronous_commit = off`. Opening refuses a server with that setting, but it may be set later.
const COMMIT: &str = "coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on')";

/// Besides [`SETTINGS`], for sessions that read lists: a page is short statements, but a server may take very long for one.
pub(crate) const OF_LISTS: (&str, &str) = ("statement_timeout", "10s");

const MAX_WAIT: Duration = Duration::from_secs(5);

/// Returns the statement that applies [`SETTINGS`] and `more`, to the session or to the transaction alone.
pub(crate) fn settings(more: &[(&str, &str)], is_local: bool) -> String {
    let all = SETTINGS.iter().chain(more).map(|(name, value)| {
        format!("set_config('{name}', '{}', {is_local})", value.replace('\'', "''"))
    });
    let all: Vec<String> = all.collect();
    format!("select {}, set_config('synchronous_commit', {COMMIT}, {is_local})", all.join(", "))
}

/// Creates connections, each of which runs `on_connect` first.
pub(crate) fn connections(server: &Server, size: usize, on_connect: String) -> Result<Pool> {
    let manager = Manager::from_config(
        server.config.clone(),
        server.tls.clone(),
        ManagerConfig { recycling_method: RecyclingMethod::Fast },
    );
    Pool::builder(manager)
        .max_size(size)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(MAX_WAIT))
        .create_timeout(Some(server.max_connect_time().max(MAX_WAIT)))
        .post_create(Hook::async_fn(move |client, _| {
            let settings = on_connect.clone();
            Box::pin(
                async move { client.batch_execute(&settings).await.map_err(HookError::Backend) },
            )
        }))
        .build()
        .map_err(|error| StoreError::Refused(error.to_string()))
}

pub(crate) async fn of(pool: &Pool) -> Result<Object> {
    pool.get().await.map_err(|error| pool_error(&error))
}

/// Sessions with the same settings.
#[derive(Clone)]
pub(crate) struct SessionPool {
    pool: Pool,
    pooling: Option<Pooling>,
}

/// Behind a pooler, a session may be another connection of the server in each transaction. So nothing is left
/// in it: each transaction applies the settings to itself, and no statement is prepared.
#[derive(Clone)]
struct Pooling {
    settings: Arc<str>,
    types: Arc<ParameterTypes>,
}

impl SessionPool {
    /// Creates sessions with the server itself.
    pub(crate) fn direct(server: &Server, size: usize, more: &[(&str, &str)]) -> Result<Self> {
        let pool = connections(server, size, settings(more, false))?;
        Ok(Self { pool, pooling: None })
    }

    /// Creates sessions through a pooler.
    pub(crate) fn pooled(
        server: &Server,
        size: usize,
        more: &[(&str, &str)],
        types: Arc<ParameterTypes>,
    ) -> Result<Self> {
        let pool = connections(server, size, String::new())?;
        let pooling = Pooling { settings: settings(more, true).into(), types };
        Ok(Self { pool, pooling: Some(pooling) })
    }

    /// Creates sessions without settings.
    pub(crate) fn bare(server: &Server, size: usize) -> Result<Self> {
        Ok(Self { pool: connections(server, size, String::new())?, pooling: None })
    }

    pub(crate) async fn get(&self) -> Result<Session> {
        let client = of(&self.pool).await?;
        Ok(Session {
            client,
            pooling: self.pooling.clone(),
            in_transaction: AtomicBool::new(false),
            _permit: None,
        })
    }
}

/// A connection of a pool, which returns to it when dropped. On the account of a tenant, it holds a permit
/// until then.
pub(crate) struct Session {
    client: Object,
    pooling: Option<Pooling>,
    in_transaction: AtomicBool,
    /// Held for its `Drop`.
    _permit: Option<FairPermit>,
}

impl Session {
    /// Opens a transaction, whose first statements are `then`.
    pub(crate) async fn begin(&self, then: &str) -> Result<(), Error> {
        let settings = self.pooling.as_ref().map_or("", |pooling| &pooling.settings);
        self.client.batch_execute(&format!("begin; {settings}; {then}")).await?;
        self.in_transaction.store(true, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) async fn commit(&self) -> Result<(), Error> {
        self.client.batch_execute("commit").await?;
        self.in_transaction.store(false, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) async fn rollback(&self) -> Result<(), Error> {
        self.client.batch_execute("rollback").await?;
        self.in_transaction.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Closes the connection instead of returning it to the pool: the server rolls back what is open.
    pub(crate) fn close(self) {
        drop(Object::take(self.client));
    }

    /// Runs statements without parameters.
    pub(crate) async fn batch_execute(&self, sql: &str) -> Result<(), Error> {
        match self.lone() {
            None => self.client.batch_execute(sql).await,
            Some(pooling) => {
                let sql = format!("begin; {}; {sql}; commit", pooling.settings);
                self.client.batch_execute(&sql).await
            }
        }
    }

    /// Runs a statement that is not prepared, because it is different each time. Only in a transaction.
    pub(crate) async fn query_once(&self, sql: &str) -> Result<Vec<Row>, Error> {
        self.client.query_typed(sql, &[]).await
    }

    /// Starts to read rows by `COPY`. Only in a transaction.
    pub(crate) async fn copy_out(&self, sql: &str) -> Result<CopyOutStream, Error> {
        self.client.copy_out(sql).await
    }

    /// Starts to write rows by `COPY`. Only in a transaction.
    pub(crate) async fn copy_in(&self, sql: &str) -> Result<CopyInSink<Bytes>, Error> {
        self.client.copy_in(sql).await
    }

    /// Returns the types that the server assigns to the parameters of a statement.
    pub(crate) async fn parameter_types(&self, sql: &str) -> Result<Vec<Type>, Error> {
        // The statement is closed when it is dropped: here, before whatever follows.
        Ok(self.client.prepare(sql).await?.params().to_vec())
    }

    /// Returns how a statement becomes a transaction of its own, if that is needed.
    fn lone(&self) -> Option<&Pooling> {
        self.pooling.as_ref().filter(|_| self.in_transaction().is_none())
    }

    fn in_transaction(&self) -> Option<&Self> {
        Some(self).filter(|_| self.in_transaction.load(Ordering::Relaxed))
    }

    /// Sends everything at once, so that a caller that gives up leaves no transaction open.
    async fn run_pooled<T>(
        &self,
        statement: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, TxError> {
        let Some(pooling) = self.lone() else { return Ok(statement.await?) };
        let begin = format!("begin; {}", pooling.settings);
        let (begun, done, committed) = futures_util::join!(
            self.client.batch_execute(&begin),
            statement,
            // After an error, this rolls the transaction back.
            self.client.batch_execute("commit"),
        );
        begun?;
        let done = done?;
        committed?;
        Ok(done)
    }
}

#[cfg(test)]
impl Deref for Session {
    type Target = deadpool_postgres::ClientWrapper;

    fn deref(&self) -> &Self::Target {
        &self.client
    }
}

/// Runs a statement that is prepared once per connection. Behind a pooler it is parsed each time.
pub(crate) async fn query(
    session: &Session,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, TxError> {
    if let Some(pooling) = &session.pooling {
        return Box::pin(query_pooled(session, pooling, sql, values)).await;
    }
    let statement = session.client.prepare_cached(sql).await?;
    Ok(session.client.query(&statement, values).await?)
}

/// Boxed, so that the futures of all callers stay small: few gateways have a pooler.
async fn query_pooled(
    session: &Session,
    pooling: &Pooling,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, TxError> {
    let values = pooling.types.add(session.in_transaction(), sql, values).await?;
    session.run_pooled(session.client.query_typed(sql, &values)).await
}

/// As [`query`], for a statement that returns one row.
pub(crate) async fn query_one(
    session: &Session,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Row, TxError> {
    let found = query(session, sql, values).await?.pop();
    found.ok_or_else(|| corrupt("a statement returned no row").into())
}

/// As [`query`], but returns the number of affected rows.
pub(crate) async fn execute(
    session: &Session,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<u64, TxError> {
    if let Some(pooling) = &session.pooling {
        return Box::pin(execute_pooled(session, pooling, sql, values)).await;
    }
    let statement = session.client.prepare_cached(sql).await?;
    Ok(session.client.execute(&statement, values).await?)
}

/// As [`query`], in a transaction of its own: see [`Transaction::begin_in_index_order`].
pub(crate) async fn query_in_index_order(
    session: Session,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, TxError> {
    let transaction = Transaction::begin_in_index_order(session).await?;
    let found = query(transaction.session()?, sql, values).await?;
    transaction.commit().await?;
    Ok(found)
}

async fn execute_pooled(
    session: &Session,
    pooling: &Pooling,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<u64, TxError> {
    let values = pooling.types.add(session.in_transaction(), sql, values).await?;
    session.run_pooled(session.client.execute_typed(sql, &values)).await
}

/// Sessions that tenants use in turn.
pub(crate) struct Turns {
    pool: SessionPool,
    /// Serves them instead, while it is usable.
    replica: Option<Arc<Replica>>,
    permits: FairSemaphore,
}

impl Turns {
    /// Shares the sessions of a pool. One tenant gets at most half of them.
    pub(crate) fn new(pool: SessionPool, count: usize) -> Self {
        let count = u32::try_from(count.max(1)).unwrap_or(u32::MAX);
        Self { pool, replica: None, permits: FairSemaphore::new(count, count.div_ceil(2)) }
    }

    pub(crate) fn with_replica(self, replica: Arc<Replica>) -> Self {
        Self { replica: Some(replica), ..self }
    }

    pub(crate) async fn next(&self, account: impl Into<Account>) -> Result<Session> {
        let permit = self.permits.acquire(account).await?;
        let replicated = match &self.replica {
            Some(replica) => replica.session().await,
            None => None,
        };
        let session = match replicated {
            Some(session) => session,
            None => self.pool.get().await?,
        };
        Ok(Session { _permit: Some(permit), ..session })
    }
}

/// A transaction of several statements. If it is dropped before its end, the connection is closed and it is rolled back.
pub(crate) struct Transaction(Option<Session>);

/// Makes the planner read an index in the order that a statement asks for, instead of sorting: where little is pending, reading
/// all that begins with the lane looks as good as finding one target, and the plan is kept when there are millions.
pub(crate) const IN_INDEX_ORDER: &str =
    "set local enable_sort = off; set local enable_incremental_sort = off";

impl Transaction {
    pub(crate) async fn begin(session: Session) -> Result<Self, Error> {
        Self::begin_with(session, "").await
    }

    /// For statements that must find their rows by the index whose order they ask for.
    pub(crate) async fn begin_in_index_order(session: Session) -> Result<Self, Error> {
        Self::begin_with(session, IN_INDEX_ORDER).await
    }

    async fn begin_with(session: Session, then: &str) -> Result<Self, Error> {
        // Guarded before it is sent.
        let transaction = Self(Some(session));
        if let Some(session) = &transaction.0 {
            session.begin(then).await?;
        }
        Ok(transaction)
    }

    pub(crate) fn session(&self) -> Result<&Session> {
        let broken = || StoreError::Broken("a transaction was used after its end".to_owned());
        self.0.as_ref().ok_or_else(broken)
    }

    pub(crate) async fn commit(mut self) -> Result<(), Error> {
        if let Some(session) = &self.0 {
            session.commit().await?;
        }
        // Back to the pool, not through the guard.
        drop(self.0.take());
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(session) = self.0.take() {
            session.close();
        }
    }
}

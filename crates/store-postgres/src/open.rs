//! Opens the store: connects, checks that the server keeps what it commits, and migrates.

use std::{sync::Arc, time::Duration};

use deadpool_postgres::Object;
use gancho_store::{Result, StoreError};
use tokio_postgres::Transaction;
use tokio_util::sync::CancellationToken;

use crate::{
    PostgresStore,
    commit_rules::CommitRules,
    committer,
    database_url::{DatabaseUrl, Server},
    expiry_time::ExpiryTime,
    listen,
    migrations::{self, transaction},
    pooler::{self, ParameterTypes},
    prune::Passes,
    publish_function::quoted,
    replica::{self, IDENTITY, Replica},
    session::{self, SessionPool, Turns},
    tx_error::store_error,
};

#[derive(Debug, Clone)]
pub struct Options {
    /// Connections for everything except the following.
    pub pool: usize,
    /// Connections that read tenants' lists.
    pub lists: usize,
    /// Connections that commit what is accepted and settled. Two keep the disk busy while the next batch is
    /// being prepared; more would only compete with each other.
    pub committers: usize,
    /// Maximum rows that one page of a list scans before it returns where to continue.
    pub max_scanned: usize,
    pub dead_letter_ttl: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            pool: 8,
            lists: 3,
            committers: 2,
            max_scanned: 100_000,
            dead_letter_ttl: Duration::from_secs(7 * 24 * 60 * 60),
        }
    }
}

/// One for the claims of each lane.
const ENGINE_SESSIONS: usize = 3;

const OLDEST_SERVER: i32 = 150_000;

impl PostgresStore {
    /// `url` is a connection string such as `postgres://gancho@db.internal/gancho?sslmode=require`, with the
    /// parameters of [`DatabaseUrl`].
    pub async fn connect(url: &str, options: Options) -> Result<Arc<Self>> {
        let url = DatabaseUrl::parse(url)?;
        let server = url.server()?;
        let direct = url.direct.as_ref().map(|url| url.server()).transpose()?;
        let is_pooled = match url.is_pooled {
            Some(is_pooled) => is_pooled,
            None => pooler::is_between(&server).await?,
        };
        let schema = migrate(&server, direct.as_ref(), url.schema.as_deref()).await?;
        let path = quoted(&schema);
        let sessions = Sessions::new(server, &path, is_pooled)?;
        let size = options.pool.max(2);
        let pool = sessions.pool(size)?;
        let stop = CancellationToken::new();
        let bells = listen::start(sessions.listener(direct), stop.clone());
        let writers = sessions.pool(options.committers.max(1) + 1)?;
        let readers = options.lists.max(2);
        let rules = CommitRules {
            bells: bells.clone(),
            orphaned_leases: Arc::default(),
            dead_letter_ttl: options.dead_letter_ttl,
            over: ExpiryTime::default(),
        };
        let committers = committer::start(&writers, options.committers.max(1), &rules, &stop);
        let lists = sessions.pool_with(readers, &[session::OF_LISTS])?;
        let upkeep = sessions.pool(1)?;
        let replica = match &url.read {
            Some(read) => Some(open_replica(read, &schema, readers, &upkeep, &stop).await?),
            None => None,
        };
        let store = Self {
            // Two are left for the gateway itself.
            turns: Arc::new(Turns::new(pool.clone(), size.saturating_sub(2))),
            engine: sessions.pool(ENGINE_SESSIONS)?,
            lists: Arc::new(Turns::new(lists.clone(), readers)),
            pool,
            upkeep,
            lifeline: sessions.pool(1)?,
            committers,
            bells,
            orphaned_leases: rules.orphaned_leases,
            max_scanned: options.max_scanned,
            dead_letter_ttl: options.dead_letter_ttl,
            over: rules.over,
            passes: Passes::default(),
            reader: None,
            until_dropped: Arc::new(stop.drop_guard()),
        };
        let reader = replica.map(|replica| {
            let lists = Turns::new(lists, readers).with_replica(replica);
            Arc::new(store.with_lists(lists))
        });
        Ok(Arc::new(Self { reader, ..store }))
    }

    /// Returns the same store with lists from another pool.
    fn with_lists(&self, lists: Turns) -> Self {
        Self {
            turns: self.turns.clone(),
            engine: self.engine.clone(),
            lists: Arc::new(lists),
            pool: self.pool.clone(),
            upkeep: self.upkeep.clone(),
            lifeline: self.lifeline.clone(),
            committers: self.committers.clone(),
            bells: self.bells.clone(),
            orphaned_leases: self.orphaned_leases.clone(),
            over: self.over.clone(),
            passes: Passes::default(),
            reader: None,
            until_dropped: self.until_dropped.clone(),
            ..*self
        }
    }
}

/// Opens the replica. If it does not answer, the store starts nevertheless and asks it again later.
async fn open_replica(
    url: &DatabaseUrl,
    schema: &str,
    size: usize,
    primary: &SessionPool,
    stop: &CancellationToken,
) -> Result<Arc<Replica>> {
    let server = url.server()?;
    let is_pooled = match url.is_pooled {
        Some(is_pooled) => is_pooled,
        None => pooler::is_between(&server).await.unwrap_or(false),
    };
    let path = quoted(schema);
    let sessions = Sessions::new(server, &path, is_pooled)?;
    // One more than the lists need, to compare it with the primary.
    let pool = sessions.pool_with(size + 1, &[session::OF_LISTS])?;
    replica::check_identity(&pool, primary).await?;
    Ok(Replica::start(pool, primary.clone(), stop.clone()))
}

/// Creates the sessions of a store.
struct Sessions<'a> {
    server: Server,
    path: (&'static str, &'a str),
    /// Set if a pooler is in between.
    types: Option<Arc<ParameterTypes>>,
}

impl<'a> Sessions<'a> {
    fn new(server: Server, path: &'a str, is_pooled: bool) -> Result<Self> {
        let path = ("search_path", path);
        let types = is_pooled.then(|| ParameterTypes::new(&server, &[path])).transpose()?;
        Ok(Self { server, path, types: types.map(Arc::new) })
    }

    fn pool(&self, size: usize) -> Result<SessionPool> {
        self.pool_with(size, &[])
    }

    fn pool_with(&self, size: usize, more: &[(&str, &str)]) -> Result<SessionPool> {
        let more = [&[self.path], more].concat();
        match &self.types {
            None => SessionPool::direct(&self.server, size, &more),
            Some(types) => SessionPool::pooled(&self.server, size, &more, types.clone()),
        }
    }

    /// Returns where to listen for other nodes, because a pooler forwards no notifications.
    fn listener(&self, direct: Option<Server>) -> Option<Server> {
        let is_pooled = self.types.is_some();
        match (&direct, is_pooled) {
            (None, true) => tracing::warn!(
                hint = "set database_direct_url to an address of the server itself",
                "database is behind a pooler; polling for the work of other nodes"
            ),
            (Some(_), true) => tracing::info!("database is behind a pooler"),
            (_, false) => {}
        }
        direct.or_else(|| (!is_pooled).then(|| self.server.clone()))
    }
}

/// Checks the server and migrates the tables. Returns their schema.
async fn migrate(server: &Server, direct: Option<&Server>, schema: Option<&str>) -> Result<String> {
    let mut first = first_connection(direct.unwrap_or(server)).await?;
    let step = transaction(&mut first).await?;
    if direct.is_some() {
        let mut other = first_connection(server).await?;
        let there = transaction(&mut other).await?;
        if identity(&step).await? != identity(&there).await? {
            return Err(StoreError::Refused(
                "database_direct_url leads to another database than database_url: it must be an address of the \
                 same one, without the pooler"
                    .to_owned(),
            ));
        }
    }
    check(&step).await?;
    step.batch_execute(&session::settings(&[], true)).await.map_err(store_error)?;
    migrations::run(step, schema).await
}

/// Opens a connection without settings.
async fn first_connection(server: &Server) -> Result<Object> {
    session::of(&session::connections(server, 1, String::new())?).await
}

async fn identity(step: &Transaction<'_>) -> Result<String> {
    Ok(step.query_one(IDENTITY, &[]).await.map_err(store_error)?.get(0))
}

/// Refuses a server that may lose commits that it has acknowledged.
pub(crate) async fn check(client: &Transaction<'_>) -> Result<()> {
    let version = show(client, "server_version_num").await?;
    if version.parse::<i32>().unwrap_or(0) < OLDEST_SERVER {
        let version = show(client, "server_version").await?;
        return Err(StoreError::Refused(format!(
            "the server is PostgreSQL {version}: version 15 or later is needed"
        )));
    }
    for setting in ["fsync", "full_page_writes"] {
        if show(client, setting).await? == "off" {
            return Err(StoreError::Refused(format!(
                "the server runs with {setting} = off and would lose or break what it acknowledged \
                 when the machine stops: set {setting} = on in postgresql.conf and reload it"
            )));
        }
    }
    if show(client, "synchronous_commit").await? == "off" {
        return Err(StoreError::Refused(
            "synchronous_commit is off for this role or database, so the last acknowledged events \
             would be lost in a crash: `alter role … reset synchronous_commit` and `alter database \
             … reset synchronous_commit`, or set it to on in postgresql.conf"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Returns the value set by the server, the database and the role, whatever the session has set.
async fn show(client: &Transaction<'_>, setting: &str) -> Result<String> {
    let row = client
        .query_one("select reset_val from pg_settings where name = $1", &[&setting])
        .await
        .map_err(store_error)?;
    Ok(row.get(0))
}

//! Opening the store: connect, check that the server keeps what it commits, migrate.

use std::{sync::Arc, time::Duration};

use gancho_store::{Result, StoreError};
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;

use crate::{
    PostgresStore, committer,
    database_url::DatabaseUrl,
    expiry_time::ExpiryTime,
    listen, migrations,
    prune::Passes,
    schema,
    session::{self, Turns},
    tx_error::store_error,
};

#[derive(Debug, Clone)]
pub struct Options {
    /// Connections for all but what follows.
    pub pool: usize,
    /// Connections that read tenants' lists.
    pub lists: usize,
    /// Connections that commit what is accepted and settled. Two keep the disk busy while the next
    /// batch is being prepared; more get in each other's way.
    pub committers: usize,
    /// Maximum rows that one page of a list scans before it returns where to continue.
    pub max_looks: usize,
    pub dead_letter_ttl: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            pool: 8,
            lists: 3,
            committers: 2,
            max_looks: 100_000,
            dead_letter_ttl: Duration::from_secs(7 * 24 * 60 * 60),
        }
    }
}

const OLDEST_SERVER: i32 = 150_000;

/// One connection to look at a database, with its schema. Nothing is checked or changed.
pub(crate) async fn plain_session(url: &str) -> Result<deadpool_postgres::Object> {
    let url = DatabaseUrl::parse(url)?;
    let tls = url.tls()?;
    let session = session::of(&session::pool(&url.server, &tls, 1, "")?).await?;
    let schema = schema::find(&**session, url.schema.as_deref()).await?;
    session.batch_execute(&schema::search_path(&schema)).await.map_err(store_error)?;
    Ok(session)
}

impl PostgresStore {
    /// `url` is a connection string such as `postgres://gancho@db.internal/gancho?sslmode=require`, with the
    /// parameters of [`DatabaseUrl`].
    pub async fn connect(url: &str, options: Options) -> Result<Arc<Self>> {
        let url = DatabaseUrl::parse(url)?;
        let (config, tls) = (&url.server, url.tls()?);
        let size = options.pool.max(2);
        let schema = {
            let mut first = session::of(&session::pool(config, &tls, 1, "")?).await?;
            check(&first).await?;
            migrations::run(&mut first, url.schema.as_deref()).await?
        };
        let path = schema::search_path(&schema);
        let pool = session::pool(config, &tls, size, &path)?;
        let lifeline = session::pool(config, &tls, 1, &path)?;
        let stop = CancellationToken::new();
        let bells = listen::start(config, &tls, stop.clone());
        let writers = session::pool(config, &tls, options.committers.max(1) + 1, &path)?;
        let readers = options.lists.max(2);
        let lists = format!("{path};\n{}", session::OF_LISTS);
        let lists = session::pool(config, &tls, readers, &lists)?;
        let upkeep = session::pool(config, &tls, 1, &path)?;
        let rules = committer::Rules {
            bells: bells.clone(),
            orphaned_leases: Arc::default(),
            dead_letter_ttl: options.dead_letter_ttl,
            over: ExpiryTime::default(),
        };
        let committers = committer::start(&writers, options.committers.max(1), &rules, &stop);
        Ok(Arc::new(Self {
            // Two are left for calls without a tenant.
            lookups: Turns::new(pool.clone(), size.saturating_sub(2)),
            lists: Turns::new(lists, readers),
            pool,
            upkeep,
            lifeline,
            committers,
            bells,
            orphaned_leases: rules.orphaned_leases,
            max_looks: options.max_looks,
            dead_letter_ttl: options.dead_letter_ttl,
            over: rules.over,
            passes: Passes::default(),
            _until_dropped: stop.drop_guard(),
        }))
    }
}

/// Refuses a server that may lose commits that it has acknowledged.
async fn check(client: &Client) -> Result<()> {
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

/// The value set by the server, the database and the role, whatever the session has set.
async fn show(client: &Client, setting: &str) -> Result<String> {
    let row = client
        .query_one("select reset_val from pg_settings where name = $1", &[&setting])
        .await
        .map_err(store_error)?;
    Ok(row.get(0))
}

//! Opening the store: connect, check that the server keeps what it commits, migrate.

use std::{sync::Arc, time::Duration};

use gancho_store::{Result, StoreError};
use tokio_postgres::{Client, Config};
use tokio_util::sync::CancellationToken;

use crate::{
    PostgresStore, committer,
    expiry_time::ExpiryTime,
    listen, migrations,
    prune::Passes,
    session::{self, Turns},
    tls,
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

/// One connection to look at a database. Nothing is checked or changed.
pub(crate) async fn plain_session(url: &str) -> Result<deadpool_postgres::Object> {
    let config = config(url)?;
    let tls = tls::connector(config.get_ssl_mode())?;
    session::of(&session::pool(&config, &tls, 1, "")?).await
}

impl PostgresStore {
    /// `url` is a connection string such as `postgres://gancho@db.internal/gancho?sslmode=require`.
    pub async fn connect(url: &str, options: Options) -> Result<Arc<Self>> {
        let config = config(url)?;
        let tls = tls::connector(config.get_ssl_mode())?;
        let size = options.pool.max(2);
        let pool = session::pool(&config, &tls, size, "")?;
        {
            let mut first = session::of(&pool).await?;
            check(&first).await?;
            migrations::run(&mut first).await?;
        }
        let lifeline = session::pool(&config, &tls, 1, "")?;
        let stop = CancellationToken::new();
        let bells = listen::start(&config, &tls, stop.clone());
        let writers = session::pool(&config, &tls, options.committers.max(1) + 1, "")?;
        let readers = options.lists.max(2);
        let lists = session::pool(&config, &tls, readers, session::OF_LISTS)?;
        let upkeep = session::pool(&config, &tls, 1, "")?;
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

pub(crate) fn config(url: &str) -> Result<Config> {
    let mut config: Config = url.parse().map_err(|error| {
        // The text of the URL may hold a password, so it is not repeated.
        StoreError::Refused(format!(
            "invalid database URL ({error}): write it as \
             postgres://user:password@host:5432/database?sslmode=require"
        ))
    })?;
    if config.get_application_name().is_none() {
        config.application_name("gancho");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(5));
    }
    // A peer that vanished without a word must be noticed long before a lease runs out.
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(10));
    }
    config.keepalives_idle(Duration::from_secs(10));
    config.keepalives_interval(Duration::from_secs(3));
    config.keepalives_retries(3);
    Ok(config)
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

//! The database URL, with Gancho's own parameters in addition to the driver's.
//!
//! | Parameter | What it says |
//! |---|---|
//! | `schema` | the schema of the tables |
//! | `sslmode=verify-full`, `sslrootcert` | as in libpq: TLS, checked against the roots in this file |
//! | `pool_mode` | of a pooler at this address: `transaction` or `session`; pgbouncer is recognized without it |
//! | `read` | another URL, of a read replica |
//! | `direct` | another URL of the same database, which leads to the server and not to a pooler |

use std::{path::PathBuf, time::Duration};

use gancho_store::{Result, StoreError};
use percent_encoding::percent_decode_str;
use tokio_postgres::{
    Config,
    config::{SslMode, TargetSessionAttrs},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::tls;

/// Maximum length of a name. PostgreSQL truncates longer ones.
const MAX_NAME: usize = 63;

/// How long to wait for one of several hosts, so that the next one is tried before callers give up.
const NEXT_HOST: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct DatabaseUrl {
    config: Config,
    pub schema: Option<String>,
    root_file: Option<PathBuf>,
    /// Whether a pooler at this address lends connections for one transaction each, if the URL says so.
    pub is_pooled: Option<bool>,
    pub direct: Option<Box<DatabaseUrl>>,
    pub read: Option<Box<DatabaseUrl>>,
}

/// The address of a server, and how to connect to it.
#[derive(Clone)]
pub(crate) struct Server {
    pub config: Config,
    pub tls: MakeRustlsConnect,
}

impl Server {
    /// Returns how long it takes to try all hosts.
    pub(crate) fn max_connect_time(&self) -> Duration {
        let each = self.config.get_connect_timeout().copied().unwrap_or_default();
        each * u32::try_from(self.config.get_hosts().len()).unwrap_or(1)
    }
}

impl DatabaseUrl {
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut rest = Vec::new();
        let (mut schema, mut root_file, mut is_pooled) = (None, None, None);
        let (mut direct, mut read) = (None, None);
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            match name {
                "schema" => schema = Some(name_of(&decoded(value)?)?),
                "sslrootcert" => root_file = Some(PathBuf::from(decoded(value)?)),
                "pool_mode" => is_pooled = Some(is_transaction(value)?),
                "direct" => direct = Some(other("database_direct_url", value)?),
                "read" => read = Some(other("database_read_url", value)?.for_reading()),
                "sslmode" if matches!(value, "verify-full" | "verify-ca") => {
                    rest.push("sslmode=require");
                }
                _ => rest.push(part),
            }
        }
        let mut config = config(&format!("{base}?{}", rest.join("&")))?;
        if root_file.is_some() && config.get_ssl_mode() == SslMode::Prefer {
            config.ssl_mode(SslMode::Require);
        }
        Ok(Self { config, schema, root_file, is_pooled, direct, read })
    }

    /// Accepts any of several hosts.
    fn for_reading(mut self: Box<Self>) -> Box<Self> {
        if self.config.get_target_session_attrs() == TargetSessionAttrs::ReadWrite {
            self.config.target_session_attrs(TargetSessionAttrs::Any);
        }
        self
    }

    pub(crate) fn server(&self) -> Result<Server> {
        let tls = tls::connector(self.config.get_ssl_mode(), self.root_file.as_deref())?;
        Ok(Server { config: self.config.clone(), tls })
    }
}

/// Returns the error for an invalid URL. It does not repeat the URL, which may contain a password.
fn refused(why: impl std::fmt::Display) -> StoreError {
    StoreError::Refused(format!(
        "invalid database URL ({why}): write it as postgres://user:password@host:5432/database?sslmode=require"
    ))
}

fn decoded(value: &str) -> Result<String> {
    let text = percent_decode_str(value).decode_utf8().map_err(refused)?;
    Ok(text.into_owned())
}

/// Parses a URL in a parameter of another one. `setting` is the name of the setting that it comes from.
fn other(setting: &str, value: &str) -> Result<Box<DatabaseUrl>> {
    match DatabaseUrl::parse(&decoded(value)?) {
        Ok(url) => Ok(Box::new(url)),
        Err(StoreError::Refused(text)) => Err(StoreError::Refused(format!("{setting}: {text}"))),
        Err(error) => Err(error),
    }
}

fn is_transaction(pool_mode: &str) -> Result<bool> {
    match pool_mode {
        "transaction" => Ok(true),
        "session" => Ok(false),
        other => Err(refused(format!("pool_mode is transaction or session, not {other:?}"))),
    }
}

fn name_of(name: &str) -> Result<String> {
    let is_valid = (1..=MAX_NAME).contains(&name.len()) && !name.contains('\0');
    if !is_valid || name.starts_with("pg_") {
        return Err(refused(format!("{name:?} is not a valid name of a schema")));
    }
    Ok(name.to_owned())
}

fn config(url: &str) -> Result<Config> {
    let mut config: Config = url.parse().map_err(refused)?;
    if config.get_application_name().is_none() {
        config.application_name("gancho");
    }
    let has_others = config.get_hosts().len() > 1;
    // Of several hosts, the primary: the others are its standbys.
    if has_others && config.get_target_session_attrs() == TargetSessionAttrs::Any {
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(if has_others { NEXT_HOST } else { Duration::from_secs(5) });
    }
    // A peer that vanished silently must be noticed long before a lease expires.
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(10));
    }
    config.keepalives_idle(Duration::from_secs(10));
    config.keepalives_interval(Duration::from_secs(3));
    config.keepalives_retries(3);
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(query: &str) -> DatabaseUrl {
        DatabaseUrl::parse(&format!("postgres://u:p@h/d{query}")).unwrap()
    }

    #[test]
    fn our_parameters_are_taken_out() {
        let url = parsed(
            "?schema=web%20hooks&sslmode=verify-full&sslrootcert=/a/b.pem&application_name=x",
        );
        assert_eq!(url.schema.as_deref(), Some("web hooks"));
        assert_eq!(url.root_file, Some("/a/b.pem".into()));
        assert_eq!(url.config.get_ssl_mode(), SslMode::Require);
        assert_eq!(url.config.get_application_name(), Some("x"));
        assert_eq!(url.config.get_dbname(), Some("d"));
        let plain = parsed("");
        assert_eq!((plain.schema, plain.config.get_ssl_mode()), (None, SslMode::Prefer));
    }

    #[test]
    fn of_several_hosts_the_primary_is_wanted() {
        let several = DatabaseUrl::parse("postgres://u@a:1,b:2/d").unwrap();
        assert_eq!(several.config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        assert_eq!(several.server().unwrap().max_connect_time(), 2 * NEXT_HOST);
        assert_eq!(parsed("").config.get_target_session_attrs(), TargetSessionAttrs::Any);
    }

    /// A file of roots with a mode that does not use it would promise more than it does.
    #[test]
    fn a_file_of_roots_asks_for_tls() {
        assert_eq!(parsed("?sslrootcert=/a").config.get_ssl_mode(), SslMode::Require);
        assert_eq!(
            parsed("?sslrootcert=/a&sslmode=disable").config.get_ssl_mode(),
            SslMode::Disable
        );
    }

    #[test]
    fn invalid_urls_are_refused_without_their_password() {
        let long = format!("postgres://u:hunter2@h/d?schema={}", "x".repeat(64));
        for url in [
            "postgres://u:hunter2@h/d?sslmode=maybe",
            "postgres://u:hunter2@h/d?schema=",
            "postgres://u:hunter2@h/d?schema=pg_catalog",
            "postgres://u:hunter2@h/d?schema=%ff",
            "postgres://u:hunter2@h/d?pool_mode=statement",
            "postgres://u:hunter2@h/d?direct=postgres%3A%2F%2Fu%3Ahunter2%40h%2Fd%3Fsslmode%3Dmaybe",
            &long,
        ] {
            let Err(StoreError::Refused(text)) = DatabaseUrl::parse(url) else { panic!("{url}") };
            assert!(!text.contains("hunter2"), "{text}");
        }
    }
}

//! The database URL, with parameters of our own beside those of the driver.
//!
//! | Parameter | What it says |
//! |---|---|
//! | `schema` | the schema of the tables |
//! | `sslmode=verify-full`, `sslrootcert` | as in libpq: TLS, checked against the roots in this file |

use std::{path::PathBuf, time::Duration};

use gancho_store::{Result, StoreError};
use percent_encoding::percent_decode_str;
use tokio_postgres::{Config, config::SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::tls;

/// PostgreSQL truncates longer names.
const MAX_NAME: usize = 63;

#[derive(Debug)]
pub(crate) struct DatabaseUrl {
    pub server: Config,
    pub schema: Option<String>,
    root_file: Option<PathBuf>,
}

impl DatabaseUrl {
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut rest = Vec::new();
        let (mut schema, mut root_file) = (None, None);
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            match name {
                "schema" => schema = Some(name_of(&decoded(value)?)?),
                "sslrootcert" => root_file = Some(PathBuf::from(decoded(value)?)),
                "sslmode" if matches!(value, "verify-full" | "verify-ca") => {
                    rest.push("sslmode=require");
                }
                _ => rest.push(part),
            }
        }
        let mut server = config(&format!("{base}?{}", rest.join("&")))?;
        if root_file.is_some() && server.get_ssl_mode() == SslMode::Prefer {
            server.ssl_mode(SslMode::Require);
        }
        Ok(Self { server, schema, root_file })
    }

    pub(crate) fn tls(&self) -> Result<MakeRustlsConnect> {
        tls::connector(self.server.get_ssl_mode(), self.root_file.as_deref())
    }
}

/// The text of the URL may hold a password, so no error repeats it.
fn refused(why: impl std::fmt::Display) -> StoreError {
    StoreError::Refused(format!(
        "invalid database URL ({why}): write it as postgres://user:password@host:5432/database?sslmode=require"
    ))
}

fn decoded(value: &str) -> Result<String> {
    let text = percent_decode_str(value).decode_utf8().map_err(refused)?;
    Ok(text.into_owned())
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
        assert_eq!(url.server.get_ssl_mode(), SslMode::Require);
        assert_eq!(url.server.get_application_name(), Some("x"));
        assert_eq!(url.server.get_dbname(), Some("d"));
        let plain = parsed("");
        assert_eq!((plain.schema, plain.server.get_ssl_mode()), (None, SslMode::Prefer));
    }

    /// A file of roots without a mode that uses it would promise more than it does.
    #[test]
    fn a_file_of_roots_asks_for_tls() {
        assert_eq!(parsed("?sslrootcert=/a").server.get_ssl_mode(), SslMode::Require);
        assert_eq!(
            parsed("?sslrootcert=/a&sslmode=disable").server.get_ssl_mode(),
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
            &long,
        ] {
            let Err(StoreError::Refused(text)) = DatabaseUrl::parse(url) else { panic!("{url}") };
            assert!(!text.contains("hunter2"), "{text}");
        }
    }
}

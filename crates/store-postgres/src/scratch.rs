//! A database for one run, such as a benchmark's: created empty and removed afterwards.

use gancho_store::{Result, StoreError};

use crate::{database_url::DatabaseUrl, session::SessionPool, tx_error::store_error};

/// Dropping it leaves the database in place: its owner calls [`ScratchDatabase::remove`].
#[derive(Debug)]
pub struct ScratchDatabase {
    server: String,
    name: String,
}

impl ScratchDatabase {
    /// Creates a database of this name on the server of `url`, as the role of `url`, which must be
    /// allowed to create databases.
    pub async fn create(url: &str, name: &str) -> Result<Self> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if !name.starts_with(|first: char| first.is_ascii_lowercase())
            || !name.bytes().all(is_plain)
        {
            return Err(StoreError::Refused(format!("`{name}` is not a valid database name")));
        }
        execute(url, &format!("create database {name}")).await?;
        Ok(Self { server: url.to_owned(), name: name.to_owned() })
    }

    pub fn url(&self) -> String {
        with_database(&self.server, &self.name)
    }

    /// Ends all connections to the database and removes it.
    pub async fn remove(self) -> Result<()> {
        execute(&self.server, &format!("drop database {} with (force)", self.name)).await
    }
}

async fn execute(url: &str, sql: &str) -> Result<()> {
    let pool = SessionPool::bare(&DatabaseUrl::parse(url)?.server()?, 1)?;
    pool.get().await?.batch_execute(sql).await.map_err(store_error)
}

/// Returns the URL of another database on the same server.
fn with_database(url: &str, name: &str) -> String {
    let (base, options) = url.split_at(url.find('?').unwrap_or(url.len()));
    let authority = base.find("://").map_or(0, |place| place + 3);
    let end = base[authority..].find('/').map_or(base.len(), |place| authority + place);
    format!("{}/{name}{options}", &base[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_another_database_keeps_everything_else() {
        for (url, other) in [
            ("postgres://a:b@h:1/old?sslmode=require", "postgres://a:b@h:1/new?sslmode=require"),
            ("postgres://a@h/old", "postgres://a@h/new"),
            ("postgresql://h", "postgresql://h/new"),
            ("postgres://h?sslmode=disable", "postgres://h/new?sslmode=disable"),
        ] {
            assert_eq!(with_database(url, "new"), other);
        }
    }
}

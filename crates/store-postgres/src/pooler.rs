//! A pooler between the gateway and the server, such as pgbouncer in transaction mode: a connection to it may
//! be another connection of the server in each transaction.
//!
//! So a statement cannot be prepared once and run later. It is sent with its text and the types of its
//! parameters, which are read once per process.

use std::{collections::HashMap, sync::Arc};

use deadpool_postgres::PoolError;
use gancho_store::Result;
use parking_lot::Mutex;
use tokio_postgres::{
    SimpleQueryMessage,
    types::{ToSql, Type},
};

use crate::{
    database_url::Server,
    session::{self, Session, SessionPool, Transaction},
    tx_error::{TxError, pool_error, store_error},
};

/// Whether a pooler between here and the server shares its connections.
///
/// A startup option does not pass pgbouncer: it refuses the connection, or ignores the option if it is
/// configured to. A server has the option afterwards.
pub(crate) async fn is_between(server: &Server) -> Result<bool> {
    let mut marked = server.clone();
    let options = marked.config.get_options().unwrap_or_default();
    let options = format!("{options} -c gancho.connection=direct");
    marked.config.options(options.trim());
    match session::connections(&marked, 1, String::new())?.get().await {
        Ok(client) => {
            let sql = "select current_setting('gancho.connection', true)";
            let answer = client.simple_query(sql).await.map_err(store_error)?;
            let is_direct = |one: &SimpleQueryMessage| matches!(one, SimpleQueryMessage::Row(row) if row.get(0) == Some("direct"));
            Ok(!answer.iter().any(is_direct))
        }
        Err(error) if is_refused_option(&error) => Ok(true),
        Err(error) => Err(pool_error(&error)),
    }
}

fn is_refused_option(error: &PoolError) -> bool {
    let PoolError::Backend(error) = error else { return false };
    let refused = |text: &str| text.starts_with("unsupported startup parameter");
    error.as_db_error().is_some_and(|error| refused(error.message()))
}

/// The types of the parameters of each statement.
pub(crate) struct ParameterTypes {
    /// A separate connection, not one of those that wait for the types.
    pool: SessionPool,
    settings: String,
    known: Mutex<HashMap<Box<str>, Arc<[Type]>>>,
}

impl ParameterTypes {
    pub(crate) fn new(server: &Server, more: &[(&str, &str)]) -> Result<Self> {
        Ok(Self {
            pool: SessionPool::bare(server, 1)?,
            settings: session::settings(more, true),
            known: Mutex::default(),
        })
    }

    /// Adds the types that the server expects to the values. `within` is a session in a transaction.
    pub(crate) async fn add<'a>(
        &self,
        within: Option<&Session>,
        sql: &str,
        values: &[&'a (dyn ToSql + Sync)],
    ) -> Result<Vec<(&'a (dyn ToSql + Sync), Type)>, TxError> {
        let known = self.known.lock().get(sql).cloned();
        let types = match (known, within) {
            (Some(types), _) => types,
            // A second transaction might wait for the connection of the first.
            (None, Some(session)) => self.learn(session, sql).await?,
            (None, None) => {
                let transaction = Transaction::begin(self.pool.get().await?).await?;
                let session = transaction.session()?;
                session.batch_execute(&self.settings).await?;
                let types = self.learn(session, sql).await?;
                transaction.commit().await?;
                types
            }
        };
        Ok(values.iter().zip(types.iter()).map(|(value, of)| (*value, of.clone())).collect())
    }

    /// Reads the types in a transaction, in which the connection stays the same.
    async fn learn(&self, session: &Session, sql: &str) -> Result<Arc<[Type]>, TxError> {
        let types: Arc<[Type]> = session.parameter_types(sql).await?.into();
        self.known.lock().insert(sql.into(), types.clone());
        Ok(types)
    }
}

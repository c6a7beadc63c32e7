//! The schema of the tables: the configured one, the one where they are, or the first of the search path.
//!
//! Every session sets its search path to this schema alone, so that nothing of the same name elsewhere is
//! used by mistake: another program's `schema_migrations`, or a schema with the name of the role, which
//! precedes `public`.

use gancho_store::{Result, StoreError};
use tokio_postgres::GenericClient;

use crate::{publish_function::quoted, tx_error::store_error};

/// Finds the schema with the migrations, by the search path; if there is none, the first schema of the path.
const FIND: &str = "
select coalesce(
    (select n.nspname from unnest(current_schemas(false)) with ordinality as s(name, place)
     join pg_namespace n on n.nspname = s.name
     join pg_class c on c.relnamespace = n.oid and c.relname = 'schema_migrations' and c.relkind in ('r', 'p')
     join pg_attribute a on a.attrelid = c.oid and a.attname = 'checksum'
     order by s.place limit 1),
    current_schema())::text";

pub(crate) async fn find(client: &impl GenericClient, name: Option<&str>) -> Result<String> {
    if let Some(name) = name {
        return Ok(name.to_owned());
    }
    let found = client.query_one(FIND, &[]).await.map_err(store_error)?;
    found.get::<_, Option<String>>(0).ok_or_else(|| {
        StoreError::Refused(
            "the search path of this role names no schema that exists: name one for the tables, with \
             database_schema or `schema` in the database URL"
                .to_owned(),
        )
    })
}

/// Finds the schema of this name, and creates it if it does not exist.
pub(crate) async fn find_or_create(
    client: &impl GenericClient,
    name: Option<&str>,
) -> Result<String> {
    let found = find(client, name).await?;
    let sql = "select from pg_namespace where nspname = $1";
    if client.query_opt(sql, &[&found]).await.map_err(store_error)?.is_none() {
        let create = format!("create schema {}", quoted(&found));
        client.batch_execute(&create).await.map_err(|error| {
            StoreError::Refused(format!(
                "the schema {found} does not exist and could not be created ({}): create it, and grant this role \
                 all rights on it",
                store_error(error)
            ))
        })?;
    }
    Ok(found)
}

/// Returns the statement that sets the search path for one transaction.
pub(crate) fn local_search_path(schema: &str) -> String {
    format!("set local search_path = {}", quoted(schema))
}

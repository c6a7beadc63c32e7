//! Installs `gancho.publish`, by which applications publish in their own transactions.
//!
//! It is in the schema `gancho` if the tables are in `public`, and otherwise in the schema of the tables. It
//! is not a migration: for a role that may not create a schema, the gateway runs without the function until
//! someone creates the schema.

use gancho_store::Result;
use tokio_postgres::Transaction;

use crate::tx_error::store_error;

/// Raised with every change of the function. A node of an earlier version keeps a later one.
const VERSION: i32 = 2;
const FUNCTION: &str = include_str!("../functions/publish.sql");
const SIGNATURE: &str = "publish(text, text, json, text, text, text, timestamptz)";

/// Reads what prevents the installation of the function, and the version that is installed.
const STATUS: &str = "
select case
    when n.oid is null and not has_database_privilege(current_database(), 'create')
        then format('create schema %I authorization %I', s.name, current_user)
    when n.oid is not null and not has_schema_privilege(n.oid, 'create')
        then format('grant create, usage on schema %I to %I', s.name, current_user)
    when p.oid is not null and not pg_has_role(p.proowner, 'usage')
        then format('alter function %I.publish owner to %I', s.name, current_user) end,
    n.oid is null, p.oid is null,
    coalesce(substring(obj_description(p.oid, 'pg_proc') from 'version (\\d+)')::int, 0),
    quote_ident(s.name)
from (select $1::text as name) s
left join pg_namespace n on n.nspname = s.name
left join pg_proc p on p.oid = to_regprocedure(quote_ident(s.name) || '.' || $2)";

/// Installs the function in the transaction that has migrated the tables. `tables` is their schema.
pub(crate) async fn install(step: &Transaction<'_>, tables: &str) -> Result<()> {
    let schema = if tables == "public" { "gancho" } else { tables };
    let status = step.query_one(STATUS, &[&schema, &SIGNATURE]).await.map_err(store_error)?;
    let (hint, no_schema, is_new): (Option<&str>, bool, bool) =
        (status.get(0), status.get(1), status.get(2));
    let (version, name): (i32, &str) = (status.get(3), status.get(4));
    if version >= VERSION {
        return Ok(());
    }
    if let Some(hint) = hint {
        tracing::warn!(schema, hint, "could not install the SQL function publish");
        return Ok(());
    }
    let tables = quoted(tables);
    let create = no_schema.then(|| format!("create schema {name}"));
    // A role of this name finds the schema before `public`. Versions of this program that create their tables
    // in the first schema of the search path must find them there, and stop.
    let view = (schema == "gancho" && name != tables).then(|| {
        format!("create or replace view {name}.schema_migrations as select * from {tables}.schema_migrations")
    });
    let function = FUNCTION.replace("{schema}", name).replace("{tables}", &tables);
    let revoke = is_new.then(|| format!("revoke all on function {name}.{SIGNATURE} from public"));
    let comment = format!(
        "comment on function {name}.{SIGNATURE} is
         'Publishes an event if this transaction commits. Gancho, version {VERSION}'"
    );
    let steps = [create, view, Some(function), revoke, Some(comment)];
    let sql = steps.into_iter().flatten().collect::<Vec<_>>().join(";\n");
    step.batch_execute(&sql).await.map_err(store_error)
}

pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

//! Whether a gateway could write to a server: for the operator who asks before it fails.

use gancho_store::Result;

use crate::{
    database_url::DatabaseUrl, migrations::transaction, open, session, tx_error::store_error,
};

/// Takes 1 MiB of space and gives it back. A server that only reads, and one whose disk is full, refuse it.
const PROBE: &str = "create temporary table gancho_probe on commit drop as
    select repeat(md5(i::text), 32) as filler from generate_series(1, 1024) as i";

/// Refuses what a gateway would refuse at its start, and fails where writing fails. Nothing is changed.
pub async fn check_writable(url: &str) -> Result<()> {
    let url = DatabaseUrl::parse(url)?;
    let mut client = session::of(&session::connections(&url.server()?, 1, String::new())?).await?;
    let step = transaction(&mut client).await?;
    open::check(&step).await?;
    step.batch_execute(PROBE).await.map_err(store_error)?;
    step.rollback().await.map_err(store_error)
}

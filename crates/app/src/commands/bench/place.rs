//! Where a benchmark keeps its data.

use tempfile::TempDir;

/// The database that was asked for, or a new SQLite file that goes with the folder.
pub fn database(asked: Option<&str>) -> anyhow::Result<(String, TempDir)> {
    let folder = tempfile::tempdir()?;
    let new = || format!("sqlite:{}", folder.path().join("bench.db").display());
    Ok((asked.map_or_else(new, str::to_owned), folder))
}

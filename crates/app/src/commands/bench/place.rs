//! The location of a benchmark's data.

use tempfile::TempDir;

/// Returns the given database, or a new SQLite file that is deleted with the directory.
pub fn database(asked: Option<&str>) -> anyhow::Result<(String, TempDir)> {
    let folder = tempfile::tempdir()?;
    let new = || format!("sqlite:{}", folder.path().join("bench.db").display());
    Ok((asked.map_or_else(new, str::to_owned), folder))
}

//! Raises the limit of open files: many connections need more than the usual 1,024.

use crate::file_handles;

/// Raises the limit of this process, which the gateway inherits as its child. Fails early if a scenario needs
/// more open files than possible.
pub fn ensure_open_files(needed: usize) -> anyhow::Result<()> {
    let limit = file_handles::raise();
    anyhow::ensure!(
        needed <= limit,
        "this size needs {needed} open files and the hard limit is {limit}: raise it (`ulimit -Hn`), or \
         choose a smaller size"
    );
    Ok(())
}

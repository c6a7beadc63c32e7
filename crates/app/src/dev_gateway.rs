//! Lets the other commands find the gateway of `gancho dev` in the same directory: it writes its address
//! beside its token.

use std::{net::SocketAddr, path::Path};

use crate::{
    private_file,
    remote::{Remote, ServerUrl},
    settings::Secret,
};

/// The data directory of `gancho dev`.
pub const DATA_DIR: &str = ".gancho-dev";
const ADDRESS: &str = "dev.address";
const TOKEN: &str = "admin.token";

/// Writes the address for the other commands.
pub fn announce(data_dir: &Path, address: SocketAddr) -> anyhow::Result<()> {
    private_file::replace(&data_dir.join(ADDRESS), &format!("{address}\n"))
}

/// Returns the hint for a command that reads the data directory when that of `gancho dev` was probably meant.
pub fn hint() -> Option<&'static str> {
    let is_there = Path::new(DATA_DIR).join(TOKEN).exists();
    is_there.then_some("for the data of `gancho dev`, add --data-dir .gancho-dev")
}

/// Returns the gateway of `gancho dev` in this directory, if it is running.
pub async fn find() -> Option<Remote> {
    let (address, token) = announced()?;
    let remote = Remote::at(address, token);
    remote.get("/v1/tenants?limit=1").await.is_ok().then_some(remote)
}

/// Returns the operator's token, if the server is the gateway of `gancho dev` in this directory.
pub fn token(server: &ServerUrl) -> Option<Secret> {
    let (address, token) = announced()?;
    (server.is_local() && server.port == address.port()).then_some(token)
}

/// The address and the token that were written last. It may have ended since.
fn announced() -> Option<(SocketAddr, Secret)> {
    let folder = Path::new(DATA_DIR);
    let address = private_file::read(&folder.join(ADDRESS)).ok()??;
    let token = private_file::read(&folder.join(TOKEN)).ok()??;
    Some((address.trim().parse().ok()?, Secret::new(token.trim())))
}

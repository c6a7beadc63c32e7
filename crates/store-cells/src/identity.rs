//! The identity of a cell: a document in it that says which gateway it belongs to and under which name, and that only
//! the key ring of that gateway can read. And the id of the gateway, in the home cell.

use bytes::Bytes;
use gancho_domain::{Random, SystemRandom};
use gancho_store::{Collection, Documents, Precondition, Result, StoreError};
use gancho_store_postgres::PostgresStore;
use serde::{Deserialize, Serialize};

use crate::CellStore;

/// The identity of a cell, in the cell.
const IDENTITY: Collection = Collection::operators("cell_identity");
/// The id of the gateway, in the home cell.
const FLEET: Collection = Collection::operators("fleet");
const ID: &str = "id";

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub fleet: String,
    pub name: String,
    /// The id of the gateway once more, encrypted.
    pub check: Vec<u8>,
}

impl CellStore {
    pub(crate) async fn fleet(&self) -> Result<Option<String>> {
        let found = self.home.open_store()?.document(FLEET, ID).await?;
        Ok(found.map(|document| String::from_utf8_lossy(&document.body).into_owned()))
    }

    /// The id of this gateway, made when it is first needed.
    pub(crate) async fn fleet_or_new(&self) -> Result<String> {
        if let Some(fleet) = self.fleet().await? {
            return Ok(fleet);
        }
        let (one, other) = (SystemRandom.next(), SystemRandom.next());
        let new = Bytes::from(format!("{one:016x}{other:016x}"));
        self.home.open_store()?.put_document(FLEET, ID, new, Precondition::Nothing).await?;
        let fleet = self.fleet().await?;
        fleet.ok_or_else(|| StoreError::Corrupt("the gateway has no id".into()))
    }

    /// All that is encrypted of the cells. Fails if one of them does not answer.
    pub async fn sealed(&self) -> Result<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        for row in self.home.open_store()?.cells().await? {
            let cell = self.cell(row.number)?;
            let found = cell.bounded(identity(&*cell.open_store()?)).await?;
            all.extend(found.map(|identity| identity.check));
            all.push(row.url);
        }
        Ok(all)
    }

    /// Encrypts all of it with the newest key, and returns how many have changed.
    pub async fn reseal(&self) -> Result<u64> {
        let (home, secrets) = (self.home.open_store()?, &self.setup.secrets);
        let mut changed = 0;
        for row in home.cells().await? {
            let again = |of: &str, sealed: &[u8]| -> Result<Vec<u8>> {
                let text = secrets.open(of, sealed).and_then(|text| secrets.seal(of, &text));
                text.map_err(|error| StoreError::Refused(format!("cell {}: {error}", row.name)))
            };
            if !secrets.is_current(&row.url) {
                let url = again(&of_url(&row.name), &row.url)?;
                changed += u64::from(home.change_cell_url(&row.name, &row.url, &url).await?);
            }
            let cell = self.cell(row.number)?;
            let store = cell.open_store()?;
            let Some(mut found) = cell.bounded(identity(&store)).await? else { continue };
            if !secrets.is_current(&found.check) {
                found.check = again(&of_check(&row.name), &found.check)?;
                put_identity(&store, &found).await?;
                changed += 1;
            }
        }
        Ok(changed)
    }
}

/// What the URL of a cell, and its identity, are encrypted as.
pub fn of_url(name: &str) -> String {
    format!("url of cell {name}")
}

pub(crate) fn of_check(name: &str) -> String {
    format!("identity of cell {name}")
}

/// Whether a database has the directory of a gateway.
pub(crate) async fn is_home(store: &PostgresStore) -> Result<bool> {
    Ok(store.document(FLEET, ID).await?.is_some())
}

pub(crate) async fn identity(store: &PostgresStore) -> Result<Option<Identity>> {
    let Some(found) = store.document(IDENTITY, ID).await? else { return Ok(None) };
    let invalid = |error| StoreError::Corrupt(format!("the identity of a cell: {error}"));
    serde_json::from_slice(&found.body).map(Some).map_err(invalid)
}

pub(crate) async fn put_identity(store: &PostgresStore, identity: &Identity) -> Result<()> {
    let invalid = |error: serde_json::Error| StoreError::Invalid(error.to_string());
    let body = serde_json::to_vec(identity).map_err(invalid)?;
    store.put_document(IDENTITY, ID, body.into(), Precondition::Anything).await.map(drop)
}

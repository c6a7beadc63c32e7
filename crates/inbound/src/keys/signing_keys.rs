//! The gateway's own Ed25519 keys, which sign receipts and checkpoints of the ledger. All nodes of a store
//! share them. They are stored encrypted. Retired keys do not sign any more, but are still published, so
//! that their signatures can be verified.

use std::sync::Arc;

use bytes::Bytes;
use data_encoding::{BASE64, HEXLOWER};
use gancho_domain::{Clock, Time};
use gancho_ledger::{Signer, Verifier};
use gancho_store::{Document, Precondition, Store, StoreError};
use gancho_vault::{KeyRing, Secret, SecretLocation};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::{
    PublicKey,
    keys::public_keys::COLLECTION,
    registry::{body, parse_document},
    sources::seal::key_of,
};

/// The name of the first key, so that only one node can create it.
const FIRST: &str = "000001";

pub struct SigningKeys {
    store: Arc<dyn Store>,
    ring: Arc<KeyRing>,
    clock: Arc<dyn Clock>,
    /// The keys, newest last.
    keys: RwLock<Vec<Arc<GatewayKey>>>,
}

/// One key.
pub struct GatewayKey {
    name: String,
    kid: Box<str>,
    made_at: Time,
    signer: Signer,
}

impl GatewayKey {
    pub fn kid(&self) -> &str {
        &self.kid
    }

    pub fn signer(&self) -> &Signer {
        &self.signer
    }

    pub fn made_at(&self) -> Time {
        self.made_at
    }
}

#[derive(Debug, Error)]
pub enum SigningKeysError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the gateway's signing key is unusable: {0}")]
    Unusable(String),
    #[error("the system's random number generator failed")]
    NoRandom,
    #[error("another node created a key at the same time: try again")]
    Busy,
}

#[derive(Serialize, Deserialize)]
struct KeyDocument {
    sealed: String,
    public: String,
    made_at: i64,
}

impl SigningKeys {
    /// Reads the keys, and creates the first one if there is none.
    pub async fn open(
        store: Arc<dyn Store>,
        ring: Arc<KeyRing>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SigningKeysError> {
        let keys = Self { store, ring, clock, keys: RwLock::default() };
        keys.read().await?;
        if keys.keys.read().is_empty() {
            // If another node is faster, its key is used.
            keys.make(FIRST).await?;
            keys.read().await?;
        }
        if keys.keys.read().is_empty() {
            return Err(SigningKeysError::Unusable("no key could be read".into()));
        }
        Ok(keys)
    }

    /// Checks that the ring decrypts the keys in the store, if there are any. Writes nothing.
    pub async fn check(store: &dyn Store, ring: &KeyRing) -> Result<(), SigningKeysError> {
        let documents = store.documents(COLLECTION, None, 1_000).await?;
        documents.iter().try_for_each(|document| prepare(ring, document).map(drop))
    }

    /// Returns the key that signs.
    pub fn current(&self) -> Arc<GatewayKey> {
        let keys = self.keys.read();
        // The list is never empty: `open` fails without a key, and none is ever removed.
        keys[keys.len() - 1].clone()
    }

    pub fn verifiers(&self) -> Vec<Verifier> {
        self.keys.read().iter().map(|key| key.signer.public_key()).collect()
    }

    /// Creates a key that signs from now on. Other nodes use it after they have reloaded the keys.
    pub async fn rotate(&self) -> Result<Arc<GatewayKey>, SigningKeysError> {
        self.read().await?;
        let last = self.current().name.parse::<u64>().unwrap_or(0);
        if !self.make(&format!("{:06}", last + 1)).await? {
            return Err(SigningKeysError::Busy);
        }
        self.read().await?;
        Ok(self.current())
    }

    /// Returns the public keys as a JSON Web Key Set (RFC 8037).
    pub fn jwks(&self) -> Value {
        let keys = self.keys.read();
        let each = keys.iter().map(|key| PublicKey::from(key.signer.public_key()).jwk());
        json!({ "keys": each.collect::<Vec<_>>() })
    }

    /// Loads the keys that other nodes have created.
    pub async fn read(&self) -> Result<(), SigningKeysError> {
        let documents = self.store.documents(COLLECTION, None, 1_000).await?;
        let keys = documents.iter().map(|document| prepare(&self.ring, document));
        let keys: Vec<Arc<GatewayKey>> = keys.collect::<Result<_, _>>()?;
        if !keys.is_empty() {
            *self.keys.write() = keys;
        }
        Ok(())
    }

    /// Creates a key. Returns false if a key with that name exists.
    async fn make(&self, name: &str) -> Result<bool, SigningKeysError> {
        let mut seed = Zeroizing::new([0; 32]);
        aws_lc_rs::rand::fill(&mut *seed).map_err(|_| SigningKeysError::NoRandom)?;
        let signer = Signer::from_seed(&seed)
            .map_err(|error| SigningKeysError::Unusable(error.to_string()))?;
        let stored = KeyDocument {
            sealed: seal(&self.ring, name, &Secret::new(HEXLOWER.encode(&*seed)))?,
            public: BASE64.encode(signer.public_key().bytes()),
            made_at: self.clock.now().micros(),
        };
        Ok(self
            .store
            .put_document(COLLECTION, name, body(&stored)?, Precondition::Nothing)
            .await?
            .is_some())
    }
}

fn prepare(ring: &KeyRing, document: &Document) -> Result<Arc<GatewayKey>, SigningKeysError> {
    let stored: KeyDocument = parse_document(document)?;
    let unusable = |why: &str| SigningKeysError::Unusable(why.to_owned());
    let seed = unseal(ring, &document.key, &stored)?;
    let seed = Zeroizing::new(HEXLOWER.decode(seed.as_bytes()).map_err(|_| unusable("its form"))?);
    let seed: &[u8; 32] =
        seed.as_slice().try_into().map_err(|_| unusable("it does not have 32 bytes"))?;
    let signer = Signer::from_seed(seed).map_err(|error| unusable(&error.to_string()))?;
    let public = signer.public_key();
    if BASE64.encode(public.bytes()) != stored.public {
        return Err(unusable("its public half does not match"));
    }
    let kid = PublicKey::from(public).kid().into();
    let made_at = Time::from_micros(stored.made_at);
    Ok(Arc::new(GatewayKey { name: document.key.clone(), kid, made_at, signer }))
}

/// Returns the document re-encrypted with the newest key; `None` if it is up to date.
pub(crate) fn resealed(
    ring: &KeyRing,
    document: &Document,
) -> Result<Option<Bytes>, SigningKeysError> {
    let mut stored: KeyDocument = parse_document(document)?;
    if key_of(&stored.sealed) == Some(ring.newest()) {
        return Ok(None);
    }
    let seed = unseal(ring, &document.key, &stored)?;
    stored.sealed = seal(ring, &document.key, &seed)?;
    Ok(Some(body(&stored)?))
}

/// Returns the encrypted part.
pub(crate) fn sealed(document: &Document) -> Result<String, StoreError> {
    Ok(parse_document::<KeyDocument>(document)?.sealed)
}

fn seal(ring: &KeyRing, name: &str, seed: &Secret) -> Result<String, SigningKeysError> {
    let sealed = ring.seal(place(name), seed);
    sealed
        .map(|sealed| BASE64.encode(&sealed))
        .map_err(|error| SigningKeysError::Unusable(error.to_string()))
}

fn unseal(ring: &KeyRing, name: &str, stored: &KeyDocument) -> Result<Secret, SigningKeysError> {
    let sealed = BASE64.decode(stored.sealed.as_bytes()).unwrap_or_default();
    let opened = ring.open(place(name), &sealed);
    opened.map_err(|error| SigningKeysError::Unusable(error.to_string()))
}

fn place(name: &str) -> SecretLocation<'_> {
    SecretLocation { tenant: b"", table: "signing_keys", column: "seed", row: name.as_bytes() }
}

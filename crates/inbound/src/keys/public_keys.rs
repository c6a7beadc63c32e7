//! The gateway's public keys: enough to verify signatures, without the key ring.

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER};
use gancho_ledger::Verifier;
use gancho_store::{Collection, Store, StoreError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::registry::parse_document;

/// The collection of the gateway's keys. Public keys are stored in the clear.
pub(crate) const COLLECTION: Collection = Collection::operators("signing_key");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(Verifier);

#[derive(Deserialize)]
struct PublicKeyDocument {
    public: String,
}

impl PublicKey {
    pub fn verifier(&self) -> &Verifier {
        &self.0
    }

    /// Returns the key id, which is derived from the key.
    pub fn kid(&self) -> String {
        HEXLOWER.encode(&digest(&SHA256, self.0.bytes()).as_ref()[..8])
    }

    /// Returns the key as a JSON Web Key (RFC 8037).
    pub fn jwk(&self) -> Value {
        json!({
            "kty": "OKP",
            "crv": "Ed25519",
            "alg": "EdDSA",
            "use": "sig",
            "kid": self.kid(),
            "x": BASE64URL_NOPAD.encode(self.0.bytes()),
        })
    }

    /// Parses a JSON Web Key; `None` for other kinds of keys.
    pub fn from_jwk(jwk: &Value) -> Option<Self> {
        if jwk["kty"] != "OKP" || jwk["crv"] != "Ed25519" {
            return None;
        }
        let bytes = BASE64URL_NOPAD.decode(jwk["x"].as_str()?.as_bytes()).ok()?;
        Some(Self(Verifier::new(bytes.try_into().ok()?)))
    }

    /// Parses the keys of a key set, as served at `/.well-known/jwks.json`, or a single key.
    pub fn from_jwks(set: &Value) -> Vec<Self> {
        match set["keys"].as_array() {
            Some(keys) => keys.iter().filter_map(Self::from_jwk).collect(),
            None => Self::from_jwk(set).into_iter().collect(),
        }
    }
}

impl From<Verifier> for PublicKey {
    fn from(verifier: Verifier) -> Self {
        Self(verifier)
    }
}

/// Returns all keys in the store, oldest first. They are only as trustworthy as the store: anyone who can
/// write to it can add keys.
pub async fn of_store(store: &dyn Store) -> Result<Vec<PublicKey>, StoreError> {
    let documents = store.documents(COLLECTION, None, 1_000).await?;
    let one = |document| {
        let stored: PublicKeyDocument = parse_document(document)?;
        let bytes =
            BASE64.decode(stored.public.as_bytes()).ok().and_then(|bytes| bytes.try_into().ok());
        let bytes = bytes.ok_or_else(|| StoreError::Corrupt("invalid public key".into()))?;
        Ok(PublicKey(Verifier::new(bytes)))
    };
    documents.iter().map(one).collect()
}

//! Re-encrypts everything of this crate that is encrypted in the store, and counts which keys are in use.
//! Whenever it is interrupted, everything stays readable.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use gancho_store::{Collection, Document, Precondition, Result, Store, StoreError};
use gancho_vault::KeyRing;

use crate::{
    Source, SourceKey,
    keys::{public_keys, signing_keys},
    registry::{body, documents, parse_document},
    source::{ON_KEYS, ON_SOURCES},
    sources::seal,
};

/// The collections, in the order in which they are re-encrypted.
const COLLECTIONS: [Collection; 3] = [ON_SOURCES, ON_KEYS, public_keys::COLLECTION];
/// Maximum passes, if documents are changed concurrently.
const TRIES: usize = 10;

/// Returns how many documents each key encrypts.
pub async fn in_use(store: &dyn Store) -> Result<BTreeMap<u32, u64>> {
    let mut counts = BTreeMap::new();
    for collection in COLLECTIONS {
        for document in documents(store, collection).await? {
            let mut numbers: Vec<u32> = sealed_in(collection, &document)?
                .iter()
                .filter_map(|kept| seal::key_of(kept))
                .collect();
            numbers.sort_unstable();
            numbers.dedup();
            for number in numbers {
                *counts.entry(number).or_default() += 1;
            }
        }
    }
    Ok(counts)
}

/// Re-encrypts everything that was not encrypted with the newest key, and returns the number of documents.
pub async fn reseal(store: &dyn Store, ring: &KeyRing) -> Result<u64> {
    let mut count = 0;
    for _ in 0..TRIES {
        let (resealed, missed) = pass(store, ring).await?;
        count += resealed;
        if missed == 0 {
            return Ok(count);
        }
    }
    Err(StoreError::Unavailable("sources were changed concurrently: run it again".into()))
}

/// Returns how many documents were re-encrypted, and how many were changed concurrently.
async fn pass(store: &dyn Store, ring: &KeyRing) -> Result<(u64, u64)> {
    let (mut resealed, mut missed) = (0, 0);
    let mut sources = HashMap::new();
    for collection in COLLECTIONS {
        for document in documents(store, collection).await? {
            let Some(body) = reseal_document(ring, collection, &document, &mut sources)? else {
                continue;
            };
            let expect = Precondition::Version(document.version);
            match store.put_document(collection, &document.key, body, expect).await? {
                Some(_) => resealed += 1,
                None => missed += 1,
            }
        }
    }
    Ok((resealed, missed))
}

/// Returns the re-encrypted document; `None` if it is up to date.
fn reseal_document(
    ring: &KeyRing,
    collection: Collection,
    document: &Document,
    sources: &mut HashMap<String, Source>,
) -> Result<Option<Bytes>> {
    let named =
        |why: String| StoreError::Corrupt(format!("the document `{}`: {why}", document.key));
    if collection == ON_SOURCES {
        let mut source: Source = parse_document(document)?;
        let changed = seal::reseal_source(ring, &mut source).map_err(named)?;
        let resealed = changed.then(|| body(&source)).transpose();
        sources.insert(document.key.clone(), source);
        resealed
    } else if collection == ON_KEYS {
        let partner = document.key.split('/').next().unwrap_or_default();
        let mut key: SourceKey = parse_document(document)?;
        // Keys of a deleted source are never decrypted again.
        let Some(source) = sources.get(partner).filter(|source| key.is_of(source)) else {
            return Ok(None);
        };
        let changed = seal::reseal_key(ring, source, &mut key).map_err(named)?;
        changed.then(|| body(&key)).transpose()
    } else {
        signing_keys::resealed(ring, document).map_err(|error| named(error.to_string()))
    }
}

fn sealed_in(collection: Collection, document: &Document) -> Result<Vec<String>> {
    if collection == ON_SOURCES {
        let source: Source = parse_document(document)?;
        let token = source.sealed_verify_token;
        Ok(token.into_iter().chain([source.sealed_dispatch_secret]).collect())
    } else if collection == ON_KEYS {
        let key: SourceKey = parse_document(document)?;
        Ok(key.sealed.into_iter().collect())
    } else {
        Ok(vec![signing_keys::sealed(document)?])
    }
}

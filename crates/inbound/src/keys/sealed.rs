//! Everything of this crate that is sealed in the store: which keys of the ring it is sealed with, and
//! sealing it anew. A kill at any point leaves nothing that cannot be read.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use gancho_store::{Expect, Record, Result, Shelf, Store, StoreError};
use gancho_vault::KeyRing;

use crate::{
    Source, SourceKey,
    keys::{public_keys, signing_keys},
    registry::{body, document, records},
    source::{ON_KEYS, ON_SOURCES},
    sources::seal,
};

/// Each kind of record, in the order in which it is sealed anew.
const SHELVES: [Shelf; 3] = [ON_SOURCES, ON_KEYS, public_keys::SHELF];
/// So often everything is gone through because others were changing it.
const TRIES: usize = 10;

/// How many records each key has sealed something of.
pub async fn in_use(store: &dyn Store) -> Result<BTreeMap<u32, u64>> {
    let mut counts = BTreeMap::new();
    for shelf in SHELVES {
        for record in records(store, shelf).await? {
            let mut numbers: Vec<u32> =
                sealed_in(shelf, &record)?.iter().filter_map(|kept| seal::key_of(kept)).collect();
            numbers.sort_unstable();
            numbers.dedup();
            for number in numbers {
                *counts.entry(number).or_default() += 1;
            }
        }
    }
    Ok(counts)
}

/// Seals with the newest key of the ring what is sealed with another, and says how many records were.
pub async fn reseal(store: &dyn Store, ring: &KeyRing) -> Result<u64> {
    let mut count = 0;
    for _ in 0..TRIES {
        let (resealed, missed) = pass(store, ring).await?;
        count += resealed;
        if missed == 0 {
            return Ok(count);
        }
    }
    Err(StoreError::Unavailable("sources kept being changed by others: run it again".into()))
}

/// How many were sealed anew, and how many others have changed meanwhile.
async fn pass(store: &dyn Store, ring: &KeyRing) -> Result<(u64, u64)> {
    let (mut resealed, mut missed) = (0, 0);
    let mut sources = HashMap::new();
    for shelf in SHELVES {
        for record in records(store, shelf).await? {
            let Some(anew) = anew(ring, shelf, &record, &mut sources)? else { continue };
            let expect = Expect::Version(record.version);
            match store.put_record(shelf, &record.key, anew, expect).await? {
                Some(_) => resealed += 1,
                None => missed += 1,
            }
        }
    }
    Ok((resealed, missed))
}

/// The record as it is to be; nothing if it can stay as it is.
fn anew(
    ring: &KeyRing,
    shelf: Shelf,
    record: &Record,
    sources: &mut HashMap<String, Source>,
) -> Result<Option<Bytes>> {
    let named = |why: String| StoreError::Corrupt(format!("the record `{}`: {why}", record.key));
    if shelf == ON_SOURCES {
        let mut source: Source = document(record)?;
        let changed = seal::reseal_source(ring, &mut source).map_err(named)?;
        let anew = changed.then(|| body(&source)).transpose();
        sources.insert(record.key.clone(), source);
        anew
    } else if shelf == ON_KEYS {
        let partner = record.key.split('/').next().unwrap_or_default();
        let mut key: SourceKey = document(record)?;
        // What a deleted source left behind is nobody's, and is never opened again.
        let Some(source) = sources.get(partner).filter(|source| key.is_of(source)) else {
            return Ok(None);
        };
        let changed = seal::reseal_key(ring, source, &mut key).map_err(named)?;
        changed.then(|| body(&key)).transpose()
    } else {
        signing_keys::resealed(ring, record).map_err(|fault| named(fault.to_string()))
    }
}

fn sealed_in(shelf: Shelf, record: &Record) -> Result<Vec<String>> {
    if shelf == ON_SOURCES {
        let source: Source = document(record)?;
        let token = source.sealed_verify_token;
        Ok(token.into_iter().chain([source.sealed_dispatch_secret]).collect())
    } else if shelf == ON_KEYS {
        let key: SourceKey = document(record)?;
        Ok(key.sealed.into_iter().collect())
    } else {
        Ok(vec![signing_keys::sealed(record)?])
    }
}

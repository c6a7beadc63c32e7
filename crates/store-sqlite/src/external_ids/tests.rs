//! A search finds exactly the existing parcels, whatever is flushed, rolled back, removed or reopened.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use gancho_domain::{ParcelId, ParcelKind, Random, SeededRandom, TenantScope, Time};
use gancho_store::{EventFilter, NewParcel, NodeId, PageRequest, StoreError};
use rusqlite::Connection;

use super::*;
use crate::{
    accept::accept_all, events, open, scan::ScanBudget, transaction::alone,
    writer_cache::WriterCache,
};

/// Small enough for many flushes, and large enough that a part is always being flushed.
const FEW: [usize; 2] = [60, 600];

fn cache_of(db: &Connection, seed: u64) -> WriterCache {
    WriterCache::load(db, FEW[seed as usize % 2]).unwrap()
}

fn parcel(dice: &SeededRandom, number: u128) -> NewParcel {
    // One in twelve has no id; the others share a few, so that a search takes several steps.
    let name = dice.next() % 12;
    let parcel = Parcel {
        id: ParcelId::from_bits(number << 65),
        tenant: TenantId::from_bits(1 + u128::from(dice.next() % 2)),
        kind: ParcelKind::Event,
        event_type: "a".into(),
        subject: None,
        external_id: (name > 0).then(|| format!("{:x}", name * 0x9E37_79B9_7F4A).into()),
        is_test: false,
        body: Bytes::new(),
        created_at: Time::from_secs(1_000_000),
        trace: None,
        erased_at: None,
    };
    NewParcel { parcel: Arc::new(parcel), once: None, ledger: None, deliveries: Vec::new() }
}

/// Searches as the API does.
fn search(db: &Connection, tenant: TenantId, name: &str) -> BTreeSet<i64> {
    let filter = EventFilter { external_id: Some(name.into()), ..EventFilter::default() };
    let scope = TenantScope::internal(tenant);
    let page = events::page_of(
        db,
        Some(scope),
        &filter,
        &PageRequest::first(1_000),
        &mut ScanBudget::new(100_000),
    )
    .unwrap();
    page.rows.into_iter().map(|event| seq(event.id)).collect()
}

type Named = BTreeMap<(TenantId, Box<str>), BTreeSet<i64>>;

struct World {
    /// The usual number of parcels.
    size: usize,
    there: Vec<NewParcel>,
    named: Named,
    removed: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let size = FEW[seed as usize % 2] * 5 / 2;
        Self { size, there: Vec::new(), named: Named::new(), removed: 0 }
    }

    /// Adds and removes parcels in one transaction, which is sometimes rolled back.
    fn transaction(
        &mut self,
        db: &Connection,
        cache: &WriterCache,
        dice: &SeededRandom,
        turn: u128,
    ) {
        let fails = dice.next().is_multiple_of(5);
        let new: Vec<_> = (0..=u128::from(dice.next() % 40))
            .map(|number| parcel(dice, 1 + turn * 100 + number))
            .collect();
        let mut gone = Vec::new();
        while self.there.len() > self.size && gone.len() < 30 {
            // Old parcels in some turns, and the newest in others.
            let place = dice.next() as usize % (self.size / 2);
            let place = if turn % 40 < 20 { place } else { self.there.len() - 1 - place / 4 };
            gone.push(self.there.remove(place));
        }
        let done = alone(db, cache, Duration::ZERO, |tx| {
            accept_all(tx, &new, NodeId(1))?;
            for old in &gone {
                forget(tx, seq(old.parcel.id))?;
                tx.db.execute("DELETE FROM parcels WHERE seq = ?1", [seq(old.parcel.id)])?;
            }
            if fails { Err(StoreError::Fenced.into()) } else { Ok(()) }
        });
        assert_eq!(done.is_err(), fails);
        if fails {
            self.there.extend(gone);
            return;
        }
        self.removed += gone.len();
        for old in &gone {
            self.of(old).map(|parcels| parcels.remove(&seq(old.parcel.id)));
        }
        for one in &new {
            self.of(one).map(|parcels| parcels.insert(seq(one.parcel.id)));
        }
        self.there.extend(new);
    }

    /// Returns the parcels with the same id.
    fn of(&mut self, one: &NewParcel) -> Option<&mut BTreeSet<i64>> {
        let name = (one.parcel.tenant, one.parcel.external_id.clone()?);
        Some(self.named.entry(name).or_default())
    }
}

#[test]
fn a_search_finds_the_parcels_that_there_are() {
    let (mut flushed, mut removed) = (0, 0);
    for seed in 0..10 {
        let (db, dice) = (open::in_memory().unwrap(), SeededRandom::new(seed));
        let (mut cache, mut world) = (cache_of(&db, seed), World::new(seed));
        for turn in 0..200 {
            world.transaction(&db, &cache, &dice, turn);
            if dice.next().is_multiple_of(20) {
                cache = cache_of(&db, seed);
            }
            if turn % 10 == 9 {
                for ((tenant, name), parcels) in &world.named {
                    assert_eq!(&search(&db, *tenant, name), parcels);
                }
            }
        }
        let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        flushed += count("SELECT count(*) FROM external_ids");
        let nobodys =
            "SELECT count(*) FROM external_ids WHERE parcel NOT IN (SELECT seq FROM parcels)";
        assert_eq!(count(nobodys), 0);
        removed += world.removed;
    }
    assert!(
        flushed > 1_000 && removed > 1_000,
        "{flushed} are in the tree, {removed} were removed"
    );
}

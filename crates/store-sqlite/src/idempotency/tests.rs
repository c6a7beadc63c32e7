//! A key is known as long as it was promised, whatever is flushed, evicted, rolled back or reopened.

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;
use gancho_domain::{ParcelKind, Random, SeededRandom};
use gancho_store::StoreError;
use rusqlite::Connection;

use super::*;
use crate::{open, transaction::alone, writer_cache::WriterCache};

/// So few that there are hundreds of flushes.
const FEW: usize = 60;

/// The parcel that used the key, its content, and until when.
type Use = (ParcelId, [u8; 32], Time);

struct World {
    db: Connection,
    cache: WriterCache,
    dice: SeededRandom,
    now: Time,
    parcels: u128,
    /// The keys that must be known.
    promised: HashMap<(TenantId, [u8; 32]), Use>,
    /// The latest time that was passed when keys were forgotten.
    over: Time,
}

fn cache_of(db: &Connection) -> WriterCache {
    WriterCache::load(db, FEW).unwrap()
}

impl World {
    fn new(seed: u64) -> Self {
        let db = open::in_memory().unwrap();
        let (cache, dice) = (cache_of(&db), SeededRandom::new(seed));
        let now = Time::from_secs(1_000_000);
        Self { db, cache, dice, now, parcels: 0, promised: HashMap::new(), over: Time::ZERO }
    }

    fn below(&self, end: u64) -> u64 {
        self.dice.next() % end
    }

    /// Uses keys in one transaction, which is sometimes rolled back.
    fn transaction(&mut self) {
        let fails = self.below(5) == 0;
        let uses: Vec<_> = (0..=self.below(40)).map(|_| self.make()).collect();
        let mut promised = self.promised.clone();
        let done = alone(&self.db, &self.cache, Duration::ZERO, |tx| {
            for (parcel, once) in &uses {
                let told = seen_before(tx, parcel, once)?;
                let key = (parcel.tenant, once.key);
                let before = promised.get(&key);
                let before =
                    before.filter(|(_, _, until)| *until > parcel.created_at.min(self.over));
                if before.is_none() && told.is_some() {
                    // After a reopen no time was passed yet: keys that were not removed are known.
                    assert!(self.cache.once_keys.expired_by.get() < self.over);
                    continue;
                }
                let expected = before.map(|&(first, content, _)| {
                    if content == once.content {
                        AcceptOutcome::Again { first }
                    } else {
                        AcceptOutcome::Clash { first }
                    }
                });
                assert_eq!(told, expected);
                if told.is_none() {
                    promised.insert(key, (parcel.id, once.content, once.until));
                }
            }
            if fails { Err(StoreError::Fenced.into()) } else { Ok(()) }
        });
        assert_eq!(done.is_err(), fails);
        if !fails {
            self.promised = promised;
        }
    }

    fn make(&mut self) -> (Parcel, IdempotencyKey) {
        self.parcels += 1;
        let mut key = [0; 32];
        // Spread over all keys, as hashes are.
        key[..8]
            .copy_from_slice(&self.below(900).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
        let until = self.now + Duration::from_secs(1 + self.below(300));
        let parcel = Parcel {
            id: ParcelId::from_bits(self.parcels),
            tenant: TenantId::from_bits(1 + u128::from(self.below(2))),
            kind: ParcelKind::Event,
            event_type: "a".into(),
            subject: None,
            external_id: None,
            is_test: false,
            body: Bytes::new(),
            created_at: self.now,
            trace: None,
            erased_at: None,
        };
        (parcel, IdempotencyKey { key, content: [self.below(2) as u8; 32], until })
    }

    fn forget(&mut self, max: usize) {
        self.over = self.now;
        alone(&self.db, &self.cache, Duration::ZERO, |tx| forget(tx, max, self.now)).unwrap();
    }

    fn count(&self, table: &str) -> usize {
        let sql = format!("SELECT count(*) FROM {table}");
        self.db.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap() as usize
    }
}

#[test]
fn a_key_is_known_as_long_as_it_was_promised() {
    let (mut flushed, mut again, mut longest, mut came) = (0, 0, 0, 0);
    for seed in 0..20 {
        let mut world = World::new(seed);
        for _ in 0..400 {
            world.transaction();
            world.now = world.now + Duration::from_secs(world.below(8));
            match world.below(40) {
                0 => {
                    world.cache = cache_of(&world.db);
                    again += 1;
                }
                1 | 2 => world.forget(50),
                // A clock that is wrong for a while, during which nothing is pruned.
                3 => {
                    let right = world.now;
                    world.now = right + Duration::from_secs(200);
                    for _ in 0..5 {
                        world.transaction();
                    }
                    world.now = right;
                }
                _ => {}
            }
            flushed = flushed.max(world.count("once_keys"));
            longest = longest.max(world.count("once_lately"));
        }
        came += world.parcels;
    }
    assert!(longest < 30 * FEW && came > 100_000, "{longest} of {came} lines were there at once");
    assert!(flushed > FEW && again > 50, "{flushed} in the tree at most, opened {again} times");
}

#[test]
fn nothing_is_left_of_keys_that_are_over() {
    let mut world = World::new(1);
    for _ in 0..50 {
        world.transaction();
    }
    assert!(world.count("once_keys") > 100 && world.count("once_lately") > 0);
    world.now = world.now + Duration::from_secs(301);
    // No call scans more than it may.
    for _ in 0..30 {
        world.forget(50);
    }
    assert_eq!((world.count("once_keys"), world.count("once_lately")), (0, 0));
    assert!(world.cache.once_keys.buffer.is_empty());
}

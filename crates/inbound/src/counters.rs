//! Counts received webhooks by partner, and rejected ones by reason. Labels are bounded: unknown partners are
//! not counted by name.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Add,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};

use crate::outcome::Reason;

#[derive(Default)]
pub struct Counters {
    partners: RwLock<BTreeMap<Box<str>, Arc<PartnerCounters>>>,
    denied: [AtomicU64; Reason::ALL.len()],
    greetings: AtomicU64,
}

#[derive(Default)]
struct PartnerCounters {
    received: AtomicU64,
    repeats: AtomicU64,
    clashes: AtomicU64,
    /// The counts that are already stored.
    saved: Mutex<Counts>,
}

/// The counters of a partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// New receipts.
    pub received: u64,
    pub repeats: u64,
    /// Receipts whose event id was already used with a different body.
    pub clashes: u64,
}

impl Add for Counts {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            received: self.received + more.received,
            repeats: self.repeats + more.repeats,
            clashes: self.clashes + more.clashes,
        }
    }
}

impl Counts {
    fn minus(self, saved: Self) -> Self {
        Self {
            received: self.received.saturating_sub(saved.received),
            repeats: self.repeats.saturating_sub(saved.repeats),
            clashes: self.clashes.saturating_sub(saved.clashes),
        }
    }
}

impl PartnerCounters {
    fn counts(&self) -> Counts {
        Counts {
            received: self.received.load(Ordering::Relaxed),
            repeats: self.repeats.load(Ordering::Relaxed),
            clashes: self.clashes.load(Ordering::Relaxed),
        }
    }

    fn unsaved(&self) -> Counts {
        self.counts().minus(*self.saved.lock())
    }
}

impl Counters {
    pub(crate) fn count_receipt(&self, partner: &str) {
        add(&self.of(partner).received);
    }

    pub(crate) fn count_repeat(&self, partner: &str) {
        add(&self.of(partner).repeats);
    }

    pub(crate) fn count_clash(&self, partner: &str) {
        add(&self.of(partner).clashes);
    }

    pub(crate) fn count_denial(&self, reason: Reason) {
        add(&self.denied[reason.index()]);
    }

    pub(crate) fn count_greeting(&self) {
        add(&self.greetings);
    }

    pub fn by_partner(&self) -> Vec<(Box<str>, Counts)> {
        let partners = self.partners.read();
        partners.iter().map(|(name, of)| (name.clone(), of.counts())).collect()
    }

    /// Returns the counts of a partner since the process started.
    pub fn of_partner(&self, partner: &str) -> Counts {
        self.partners.read().get(partner).map_or_else(Counts::default, |of| of.counts())
    }

    /// Returns the counts that are not stored yet.
    pub(crate) fn unsaved(&self, partner: &str) -> Counts {
        self.partners.read().get(partner).map_or_else(Counts::default, |of| of.unsaved())
    }

    /// Returns the partners with counts that are not stored yet.
    pub(crate) fn changed(&self) -> BTreeSet<Box<str>> {
        let partners = self.partners.read();
        let is_changed = |of: &PartnerCounters| of.unsaved() != Counts::default();
        partners.iter().filter(|(_, of)| is_changed(of)).map(|(name, _)| name.clone()).collect()
    }

    /// Marks these counts as stored.
    pub(crate) fn saved(&self, partner: &str, counts: Counts) {
        if let Some(of) = self.partners.read().get(partner) {
            let mut saved = of.saved.lock();
            *saved = *saved + counts;
        }
    }

    pub fn by_reason(&self) -> impl Iterator<Item = (Reason, u64)> + '_ {
        let count = |reason: &Reason| self.denied[reason.index()].load(Ordering::Relaxed);
        Reason::ALL.iter().map(move |reason| (*reason, count(reason)))
    }

    pub fn of_reason(&self, reason: Reason) -> u64 {
        self.denied[reason.index()].load(Ordering::Relaxed)
    }

    pub fn greetings(&self) -> u64 {
        self.greetings.load(Ordering::Relaxed)
    }

    fn of(&self, partner: &str) -> Arc<PartnerCounters> {
        if let Some(known) = self.partners.read().get(partner) {
            return known.clone();
        }
        self.partners.write().entry(partner.into()).or_default().clone()
    }
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

//! What is counted: by partner what was received, by reason what was turned away. Labels are bounded:
//! partners that are not there are not counted by name.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::RwLock;

use crate::outcome::Reason;

#[derive(Default)]
pub struct Tally {
    partners: RwLock<BTreeMap<Box<str>, Arc<OfPartner>>>,
    denied: [AtomicU64; Reason::ALL.len()],
    greetings: AtomicU64,
}

#[derive(Default)]
struct OfPartner {
    received: AtomicU64,
    repeats: AtomicU64,
    clashes: AtomicU64,
}

/// Of one partner, since the process began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// New receipts.
    pub received: u64,
    pub repeats: u64,
    /// An id that was seen with another body.
    pub clashes: u64,
}

impl Tally {
    pub(crate) fn received(&self, partner: &str) {
        add(&self.of(partner).received);
    }

    pub(crate) fn repeated(&self, partner: &str) {
        add(&self.of(partner).repeats);
    }

    pub(crate) fn clashed(&self, partner: &str) {
        add(&self.of(partner).clashes);
    }

    pub(crate) fn denied(&self, reason: Reason) {
        add(&self.denied[reason.index()]);
    }

    pub(crate) fn greeted(&self) {
        add(&self.greetings);
    }

    pub fn by_partner(&self) -> Vec<(Box<str>, Counts)> {
        let partners = self.partners.read();
        let counts = |of: &OfPartner| Counts {
            received: of.received.load(Ordering::Relaxed),
            repeats: of.repeats.load(Ordering::Relaxed),
            clashes: of.clashes.load(Ordering::Relaxed),
        };
        partners.iter().map(|(name, of)| (name.clone(), counts(of))).collect()
    }

    pub fn of_partner(&self, partner: &str) -> Counts {
        let found = self.by_partner().into_iter().find(|(name, _)| **name == *partner);
        found.map_or_else(Counts::default, |(_, counts)| counts)
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

    fn of(&self, partner: &str) -> Arc<OfPartner> {
        if let Some(known) = self.partners.read().get(partner) {
            return known.clone();
        }
        self.partners.write().entry(partner.into()).or_default().clone()
    }
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

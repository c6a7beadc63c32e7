//! Slows down credential guessing.
//!
//! After a few invalid credentials from an address, further ones are checked one at a time, at growing
//! intervals, and refused unchecked if the wait would be long. A credential that was valid from the same
//! address before does not wait, so that guessing locks nobody out.
//!
//! Guesses are counted by address, and guesses of passwords also by account, because they may come from many
//! addresses: a [`ThrottleKey`] is either. When there are too many addresses to count each, new ones of IPv6
//! are counted by their site, and others not at all: nobody is refused because of unrelated addresses.

use std::{
    fmt,
    net::IpAddr,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use gancho_domain::AddressBlock;
use parking_lot::Mutex;
use thiserror::Error;
use tokio::time::Instant;

use crate::{BoundedRecords, RecentSet, digest::sha256};

/// Invalid credentials without a delay, because people mistype keys.
const FREE_FAILURES: u32 = 10;
/// Interval between two checks; doubles with every two failures.
const FIRST_SPACING: Duration = Duration::from_millis(50);
const MAX_SPACING: Duration = Duration::from_secs(1);
/// The maximum wait of a caller.
const MAX_WAIT: Duration = Duration::from_secs(3);
/// Half of an address's failures are forgotten in this time.
const HALF_LIFE: Duration = Duration::from_secs(60);
const WARN_INTERVAL: Duration = Duration::from_secs(60);
/// This many failures are reported at once, without waiting for [`WARN_INTERVAL`].
const ALARM_THRESHOLD: u64 = 10;

#[derive(Debug, Clone, Copy, Error, PartialEq, Eq)]
#[error("too many invalid API keys or tokens from this address; retry in {retry_after:?}")]
pub struct ThrottleError {
    pub retry_after: Duration,
}

/// What guesses are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThrottleKey {
    Address(AddressBlock),
    /// The hash of the account's name.
    Account([u8; 32]),
}

impl ThrottleKey {
    pub fn account(name: &str) -> Self {
        Self::Account(sha256(name))
    }
}

impl ThrottleKey {
    /// Returns the site of an IPv6 address.
    fn site(self) -> Option<IpAddr> {
        match self {
            Self::Address(address) => Some(address.site()).filter(IpAddr::is_ipv6),
            Self::Account(_) => None,
        }
    }
}

impl From<AddressBlock> for ThrottleKey {
    fn from(address: AddressBlock) -> Self {
        Self::Address(address)
    }
}

impl fmt::Display for ThrottleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Account(_) => f.write_str("an account"),
        }
    }
}

#[derive(Default)]
pub struct Throttle {
    records: Mutex<FailureRecords>,
    /// The number of addresses with failures. While it is zero, nothing is locked.
    count: AtomicUsize,
    seen: RecentSet,
}

struct FailureRecords {
    by_key: BoundedRecords<ThrottleKey, FailureRecord>,
    /// The records of sites, for addresses without one of their own.
    by_site: BoundedRecords<IpAddr, FailureRecord>,
    /// Failures that were not logged yet, and since when.
    unreported: u64,
    unreported_since: Option<Instant>,
    reported_at: Option<Instant>,
}

impl Default for FailureRecords {
    fn default() -> Self {
        Self {
            by_key: BoundedRecords::new(HALF_LIFE / 4),
            by_site: BoundedRecords::new(HALF_LIFE / 4),
            unreported: 0,
            unreported_since: None,
            reported_at: None,
        }
    }
}

struct FailureRecord {
    failures: u32,
    last: Instant,
    /// When the next check is due.
    next_check_at: Instant,
}

enum CheckTime {
    Now,
    At(Instant),
    /// Too many callers are waiting. There is room after this time.
    Never(Duration),
}

impl Throttle {
    /// Returns when the credential may be checked.
    pub async fn admit(
        &self,
        key: impl Into<ThrottleKey>,
        token: &str,
    ) -> Result<(), ThrottleError> {
        match self.turn(key.into(), token) {
            CheckTime::Now => Ok(()),
            CheckTime::At(at) => {
                tokio::time::sleep_until(at).await;
                Ok(())
            }
            CheckTime::Never(retry_after) => Err(ThrottleError { retry_after }),
        }
    }

    fn turn(&self, key: ThrottleKey, token: &str) -> CheckTime {
        if self.count.load(Ordering::Relaxed) == 0 {
            return CheckTime::Now;
        }
        let now = Instant::now();
        let mut records = self.records.lock();
        records.report(now, key);
        let Some(record) = records.find(key) else { return CheckTime::Now };
        record.decay(now);
        if record.failures < FREE_FAILURES || self.seen.contains(&(key, token)) {
            return CheckTime::Now;
        }
        let at = record.next_check_at.max(now);
        let wait = at.duration_since(now);
        if wait > MAX_WAIT {
            return CheckTime::Never(wait);
        }
        record.next_check_at = at + record.spacing();
        if wait.is_zero() { CheckTime::Now } else { CheckTime::At(at) }
    }

    /// Records a valid credential.
    pub fn succeed(&self, key: impl Into<ThrottleKey>, token: &str) {
        let key: ThrottleKey = key.into();
        self.seen.insert(&(key, token));
    }

    /// Records an invalid credential.
    pub fn fail(&self, key: impl Into<ThrottleKey>) {
        let (key, now) = (key.into(), Instant::now());
        let mut records = self.records.lock();
        records.fail(key, now);
        records.note(now, key);
        self.count.store(records.by_key.len() + records.by_site.len(), Ordering::Relaxed);
    }

    /// Reports an invalid credential that is not a guess, without an effect on later ones.
    pub fn report(&self, key: impl Into<ThrottleKey>) {
        self.records.lock().note(Instant::now(), key.into());
    }
}

impl FailureRecords {
    fn fail(&mut self, key: ThrottleKey, now: Instant) {
        let is_needed = |record: &mut FailureRecord| {
            record.decay(now);
            record.failures > 1
        };
        let new = || FailureRecord { failures: 0, last: now, next_check_at: now };
        let own = self.by_key.own_or_insert(key, now, is_needed, new());
        let record = own.or_else(|| {
            key.site().and_then(|site| self.by_site.own_or_insert(site, now, is_needed, new()))
        });
        let Some(record) = record else { return };
        record.decay(now);
        record.failures = record.failures.saturating_add(1);
        record.last = now;
    }

    /// Returns the record of the address or the account, or of the address's site.
    fn find(&mut self, key: ThrottleKey) -> Option<&mut FailureRecord> {
        let own = self.by_key.own_mut(key);
        own.or_else(|| key.site().and_then(|site| self.by_site.own_mut(site)))
    }

    fn note(&mut self, now: Instant, key: ThrottleKey) {
        self.unreported += 1;
        self.unreported_since.get_or_insert(now);
        self.report(now, key);
    }

    /// Logs the failures once a minute, or at once if they look like an attack.
    fn report(&mut self, now: Instant, key: ThrottleKey) {
        let Some(since) = self.unreported_since else { return };
        let is_first = self.reported_at.is_none_or(|at| now.duration_since(at) >= WARN_INTERVAL);
        let is_due =
            now.duration_since(since) >= WARN_INTERVAL || self.unreported >= ALARM_THRESHOLD;
        if !is_first || !is_due {
            return;
        }
        let (count, addresses) = (self.unreported, self.by_key.len());
        tracing::warn!(count, addresses, last_from = %key, "authentication failures: invalid API keys or operator tokens");
        (self.unreported, self.unreported_since, self.reported_at) = (0, None, Some(now));
    }
}

impl FailureRecord {
    fn decay(&mut self, now: Instant) {
        let halvings = now.duration_since(self.last).as_secs() / HALF_LIFE.as_secs();
        if halvings > 0 {
            self.failures = self.failures.checked_shr(halvings as u32).unwrap_or(0);
            self.last = now;
        }
    }

    fn spacing(&self) -> Duration {
        let doublings = (self.failures.saturating_sub(FREE_FAILURES) / 2).min(10);
        (FIRST_SPACING * (1 << doublings)).min(MAX_SPACING)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    fn block(number: u32) -> ThrottleKey {
        AddressBlock::from(IpAddr::V4(Ipv4Addr::from_bits(number))).into()
    }

    async fn guess(throttle: &Throttle, from: ThrottleKey, token: &str) -> bool {
        let is_admitted = throttle.admit(from, token).await.is_ok();
        if is_admitted {
            throttle.fail(from);
        }
        is_admitted
    }

    #[tokio::test(start_paused = true)]
    async fn guessing_becomes_slow_and_stays_slow() {
        let throttle = Throttle::default();
        let began = Instant::now();
        for _ in 0..FREE_FAILURES {
            assert!(guess(&throttle, block(1), "wrong").await);
        }
        assert!(began.elapsed().is_zero(), "a few mistakes cost nothing");
        for _ in 0..100 {
            assert!(guess(&throttle, block(1), "wrong").await);
        }
        assert!(began.elapsed() > Duration::from_secs(80), "{:?}", began.elapsed());
        let failures = throttle.records.lock().by_key.own_mut(block(1)).unwrap().failures;
        assert_eq!(failures, 110);
        // Other addresses are not slowed down.
        let began = Instant::now();
        assert!(guess(&throttle, block(2), "wrong").await);
        assert!(began.elapsed().is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_at_once_are_checked_no_faster() {
        let throttle = Throttle::default();
        let mut admitted = 0;
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            let guesses = (0..1_000).map(|_| guess(&throttle, block(1), "wrong"));
            let checked = futures_util::future::join_all(guesses).await;
            // The first burst is admitted before any of it has failed.
            admitted += checked.into_iter().filter(|is_admitted| *is_admitted).count();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(admitted < 200, "{admitted} guesses in a minute");
    }

    #[tokio::test(start_paused = true)]
    async fn good_credentials_are_not_locked_out() {
        let throttle = Throttle::default();
        throttle.succeed(block(1), "known");
        for _ in 0..1_000 {
            throttle.fail(block(1));
        }
        let began = Instant::now();
        for _ in 0..100 {
            throttle.admit(block(1), "known").await.unwrap();
        }
        assert!(began.elapsed().is_zero());
        // A credential that was never used from there waits at most [`MAX_WAIT`].
        throttle.admit(block(1), "new").await.unwrap();
        assert!(began.elapsed() <= MAX_WAIT);
        // A valid credential counts for its own address only.
        throttle.fail(block(2));
        (0..100).for_each(|_| throttle.fail(block(2)));
        let turns: Vec<bool> =
            (0..10).map(|_| matches!(throttle.turn(block(2), "known"), CheckTime::Now)).collect();
        assert!(turns.contains(&false), "{turns:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_forgotten() {
        let throttle = Throttle::default();
        (0..40).for_each(|_| throttle.fail(block(1)));
        tokio::time::sleep(HALF_LIFE * 3).await;
        for _ in 0..5 {
            assert!(matches!(throttle.turn(block(1), "new"), CheckTime::Now));
        }
    }

    /// The /64 of this number, in a /48 of its own number.
    fn block_of_site(site: u16, number: u16) -> ThrottleKey {
        let address = Ipv6Addr::new(0x2001, 0xdb8, site, number, 0, 0, 0, 1);
        AddressBlock::from(IpAddr::V6(address)).into()
    }

    /// Failures from very many addresses of one site refuse nobody elsewhere, and are not free for the site.
    #[tokio::test(start_paused = true)]
    async fn very_many_addresses_are_counted_by_site_and_delay_nobody_else() {
        let throttle = Throttle::default();
        for number in 0..60_000 {
            (0..3).for_each(|_| throttle.fail(block_of_site(1, number)));
        }
        for other in [block(50_000), block_of_site(2, 1)] {
            for _ in 0..100 {
                assert!(matches!(throttle.turn(other, "new"), CheckTime::Now));
            }
        }
        let of_site = (0..100).map(|_| throttle.turn(block_of_site(1, 60_001), "guess"));
        assert!(of_site.into_iter().any(|turn| !matches!(turn, CheckTime::Now)));
        let mut records = throttle.records.lock();
        assert_eq!(records.find(block_of_site(1, 1)).unwrap().failures, 3, "it has its own");
        assert!(records.find(block_of_site(1, 60_002)).unwrap().failures > FREE_FAILURES);
    }
}

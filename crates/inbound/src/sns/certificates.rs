//! Fetches and caches certificates. Everything is bounded, because nothing in a message is verified before
//! its certificate is there: the cache is bounded, one caller at a time fetches a URL, failures are cached
//! for a while, and the fetches per minute are limited for each source and in total.
//!
//! A certificate that was fetched once stays in use while it cannot be fetched again, as long as it is valid, and
//! fetching it again has a rate of its own: forged messages with other URLs do not make Amazon's own fail.

use std::{collections::HashMap, sync::Arc, time::Duration};

use gancho_domain::{Gcra, Rate, Time};
use gancho_egress::Client;
use parking_lot::Mutex;
use url::Url;

use super::certificate::Certificate;

/// Maximum certificates. Amazon has one per region, and a new one each year.
const KEPT: usize = 32;
const REFUSED_KEPT: usize = 256;
/// How long a certificate is used before it is fetched again, so that one that Amazon withdrew is not trusted
/// forever.
const TRUSTED: Duration = Duration::from_hours(24);
/// How long a URL without a certificate is not fetched again. Unreachable URLs are retried sooner.
const REFUSED_FOR: Duration = Duration::from_mins(1);
const AWAY_FOR: Duration = Duration::from_secs(2);
/// How long a certificate that could not be fetched again is used until the next attempt.
const RENEW_AFTER: Duration = Duration::from_mins(1);
const DEADLINE: Duration = Duration::from_secs(5);
/// Maximum length of a certificate. Amazon's have about 2 KiB.
const MAX_LENGTH: usize = 16 * 1024;

pub const BY_SOURCE: Rate = Rate { count: 6, per: Duration::from_mins(1) };
pub const BY_ALL: Rate = Rate { count: 30, per: Duration::from_mins(1) };
/// The rate of fetches of certificates that were good before, of all sources. Each of them has a turn in a minute.
const BY_RENEWALS: Rate = Rate { count: KEPT as u32, per: Duration::from_mins(1) };

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CertificateError {
    /// The certificate cannot be trusted.
    Refused(String),
    /// The certificate could not be fetched, but may be available the next time.
    Away(String),
}

pub struct Certificates {
    client: Client,
    cache: Mutex<CertificateCache>,
    /// The URLs that are being fetched, each with its queue.
    turns: Mutex<HashMap<Box<str>, Arc<tokio::sync::Mutex<()>>>>,
}

#[derive(Default)]
struct CertificateCache {
    good: HashMap<Box<str>, CachedCertificate>,
    /// Failures by URL. They are separate from the certificates, so that forged URLs evict none.
    bad: HashMap<Box<str>, (CertificateError, Time)>,
    fetched: Gcra,
    renewed: Gcra,
}

struct CachedCertificate {
    certificate: Arc<Certificate>,
    fetched_at: Time,
    used_at: Time,
}

type CertificateResult = Result<Arc<Certificate>, CertificateError>;

impl Certificates {
    pub fn new(client: Client) -> Self {
        Self { client, cache: Mutex::default(), turns: Mutex::default() }
    }

    /// Returns the certificate at a URL, which the caller must have checked. `own` is the rate of fetches for
    /// the source.
    pub async fn get(&self, url: &Url, own: &Mutex<Gcra>, now: Time) -> CertificateResult {
        if let Some(known) = self.cache.lock().known(url.as_str(), now) {
            return known;
        }
        let turn = self.turn(url.as_str());
        let old = self.cache.lock().outdated(url.as_str(), now);
        let _mine = match turn.lock.try_lock() {
            Ok(mine) => mine,
            // Another caller is fetching it again.
            Err(_) if let Some(old) = old => return Ok(old),
            Err(_) => turn.lock.lock().await,
        };
        // The previous caller in the queue may have fetched it.
        if let Some(known) = self.cache.lock().known(url.as_str(), now) {
            return known;
        }
        let may_fetch = if old.is_some() { self.spend_renewal(now) } else { self.spend(own, now) };
        if !may_fetch {
            let why = "too many certificates were fetched in the last minute";
            return old.ok_or_else(|| CertificateError::Away(why.to_owned()));
        }
        let found = self.fetch(url).await;
        self.cache.lock().put(url.as_str(), found.clone(), now);
        match (found, old) {
            (Err(CertificateError::Away(_)), Some(old)) => Ok(old),
            (found, _) => found,
        }
    }

    async fn fetch(&self, url: &Url) -> CertificateResult {
        let answer = self.client.get(url, DEADLINE, MAX_LENGTH).await.answer;
        let answer =
            answer.map_err(|none| CertificateError::Away(none.failure.reason().to_owned()))?;
        let refused = |why: String| Err(CertificateError::Refused(why));
        match answer.status {
            200 if answer.is_whole => {
                Certificate::read(&answer.body).map(Arc::new).map_err(CertificateError::Refused)
            }
            200 if answer.body.len() >= MAX_LENGTH => {
                refused("the certificate is too long".to_owned())
            }
            200 => Err(CertificateError::Away(
                "the certificate was not received completely".to_owned(),
            )),
            status @ (429 | 500..) => {
                Err(CertificateError::Away(format!("the certificate URL responded with {status}")))
            }
            status => refused(format!("no certificate at its URL, which responded with {status}")),
        }
    }

    /// Takes a fetch from both rates, or from neither.
    fn spend(&self, own: &Mutex<Gcra>, now: Time) -> bool {
        let (mut used, mut all) = (own.lock(), self.cache.lock());
        let is_free =
            used.free_at(BY_SOURCE, now) <= now && all.fetched.free_at(BY_ALL, now) <= now;
        if is_free {
            used.take(BY_SOURCE, now);
            all.fetched.take(BY_ALL, now);
        }
        is_free
    }

    fn spend_renewal(&self, now: Time) -> bool {
        let renewed = &mut self.cache.lock().renewed;
        let is_free = renewed.free_at(BY_RENEWALS, now) <= now;
        if is_free {
            renewed.take(BY_RENEWALS, now);
        }
        is_free
    }

    fn turn<'a>(&'a self, url: &'a str) -> FetchSlot<'a> {
        let lock = self.turns.lock().entry(url.into()).or_default().clone();
        FetchSlot { of: self, url, lock }
    }
}

/// A place in the queue for a URL. The last one to leave removes the queue.
struct FetchSlot<'a> {
    of: &'a Certificates,
    url: &'a str,
    lock: Arc<tokio::sync::Mutex<()>>,
}

impl Drop for FetchSlot<'_> {
    fn drop(&mut self) {
        let mut turns = self.of.turns.lock();
        // One reference is the map's, the other is this one.
        if Arc::strong_count(&self.lock) == 2 {
            turns.remove(self.url);
        }
    }
}

impl CertificateCache {
    fn known(&mut self, url: &str, now: Time) -> Option<CertificateResult> {
        if let Some(good) = self.good.get_mut(url)
            && now.since(good.fetched_at) < TRUSTED
        {
            good.used_at = now;
            return Some(Ok(good.certificate.clone()));
        }
        let (why, until) = self.bad.get(url)?;
        if *until <= now {
            return None;
        }
        let why = why.clone();
        Some(self.outdated(url, now).ok_or(why))
    }

    /// Returns a certificate that is valid, and was to be fetched again.
    fn outdated(&mut self, url: &str, now: Time) -> Option<Arc<Certificate>> {
        let old = self.good.get_mut(url)?;
        old.certificate.check_dates(now).ok()?;
        old.used_at = now;
        Some(old.certificate.clone())
    }

    fn put(&mut self, url: &str, found: CertificateResult, now: Time) {
        match found {
            Ok(certificate) => {
                if self.good.len() >= KEPT
                    && let Some(oldest) = self.good.iter().min_by_key(|(_, good)| good.used_at)
                {
                    let oldest = oldest.0.clone();
                    self.good.remove(&oldest);
                }
                let good = CachedCertificate { certificate, fetched_at: now, used_at: now };
                self.good.insert(url.into(), good);
            }
            Err(why) => {
                // Amazon has withdrawn it.
                if matches!(why, CertificateError::Refused(_)) {
                    self.good.remove(url);
                }
                self.bad.retain(|_, (_, until)| *until > now);
                // The rate allows no more than this in a minute, but a clock may stand still.
                if self.bad.len() >= REFUSED_KEPT {
                    self.bad.clear();
                }
                let until = match why {
                    CertificateError::Refused(_) => now + REFUSED_FOR,
                    CertificateError::Away(_) if self.good.contains_key(url) => now + RENEW_AFTER,
                    CertificateError::Away(_) => now + AWAY_FOR,
                };
                self.bad.insert(url.into(), (why, until));
            }
        }
    }
}

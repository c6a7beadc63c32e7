//! An endpoint, prepared for delivery.

use std::{collections::HashMap, sync::Arc, time::Duration};

use gancho_domain::{Endpoint, EndpointId, RetryPlan, Time};
use gancho_vault::KeyRing;
use gancho_wire::{Profile, SigningKey};
use http::{HeaderName, HeaderValue};
use url::Url;

use crate::endpoints::seal;

pub struct Target {
    pub endpoint: Endpoint,
    /// The id as it is sent in headers.
    pub id: Box<str>,
    pub url: Url,
    pub profile: Arc<Profile>,
    /// The current key, then the rotated ones in the order in which they expire, latest first.
    keys: Vec<SigningKey>,
    /// Until when each of `keys` after the first signs.
    until: Vec<Time>,
    /// The tenant's custom headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub plan: Arc<RetryPlan>,
    pub timeout: Duration,
}

impl Target {
    /// Returns the keys that sign at a time, newest first. An expired key is skipped without reading the
    /// store.
    pub fn keys(&self, now: Time) -> &[SigningKey] {
        let old = self.until.iter().take_while(|until| **until > now).count();
        &self.keys[..self.keys.len().min(1 + old)]
    }
}

/// All of a tenant's endpoints.
#[derive(Default)]
pub struct Targets {
    /// Sorted by id.
    pub all: Vec<Arc<Target>>,
    /// Endpoints that this node cannot use, with the reason: its key ring or profiles differ from those
    /// they were saved with. Their deliveries are retried, not lost.
    pub unusable: Vec<(Endpoint, String)>,
    /// The version of the tenant's endpoints in the store when they were read.
    pub version: u64,
    /// About how much all of them take in memory.
    pub bytes: usize,
}

impl Targets {
    pub fn get(&self, id: EndpointId) -> Option<&Arc<Target>> {
        let place = self.all.binary_search_by_key(&id, |target| target.endpoint.id).ok()?;
        self.all.get(place)
    }

    /// Returns why an existing endpoint is unusable.
    pub fn trouble(&self, id: EndpointId) -> Option<&str> {
        self.unusable.iter().find(|(endpoint, _)| endpoint.id == id).map(|(_, why)| why.as_str())
    }

    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        let usable = self.all.iter().map(|target| &target.endpoint);
        usable.chain(self.unusable.iter().map(|(endpoint, _)| endpoint))
    }
}

/// The prepared parts of a target.
pub(super) struct PreparedTarget {
    url: Url,
    profile: Arc<Profile>,
    keys: Vec<SigningKey>,
    until: Vec<Time>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

pub(super) fn prepare(
    endpoint: &Endpoint,
    ring: &KeyRing,
    profiles: &HashMap<String, Arc<Profile>>,
) -> Result<PreparedTarget, String> {
    let url = endpoint.url.parse::<Url>().map_err(|error| error.to_string())?;
    let profile = profiles
        .get(&endpoint.profile)
        .ok_or_else(|| format!("unknown profile `{}`", endpoint.profile))?;
    let secret = seal::secret(ring, endpoint)?;
    let first = SigningKey::for_profile(profile, &secret).map_err(|error| error.to_string())?;
    let (until, old): (Vec<Time>, Vec<SigningKey>) =
        old_keys(endpoint, ring, profile).into_iter().unzip();
    let keys = std::iter::once(first).chain(old).collect();
    Ok(PreparedTarget {
        url,
        profile: profile.clone(),
        keys,
        until,
        headers: headers(endpoint, ring)?,
    })
}

/// Prepares the old secrets. One that cannot sign any more, because the profile or the key ring changed, is
/// omitted: the new secret signs, which is enough for a delivery.
fn old_keys(endpoint: &Endpoint, ring: &KeyRing, profile: &Profile) -> Vec<(Time, SigningKey)> {
    let open = |old: &gancho_domain::OldSecret| {
        let secret = seal::open_secret(ring, endpoint, &old.sealed).ok()?;
        Some((old.until, SigningKey::for_profile(profile, &secret).ok()?))
    };
    let mut keys: Vec<_> = endpoint.old_secrets.iter().filter_map(open).collect();
    keys.sort_by_key(|(until, _)| std::cmp::Reverse(*until));
    keys
}

fn headers(endpoint: &Endpoint, ring: &KeyRing) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    let unfit = |name: &str| format!("the custom header `{name}` is invalid");
    let each = seal::headers(ring, endpoint)?.into_iter().map(|(name, value)| {
        let line =
            HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(&value).ok());
        let (header, mut value) = line.ok_or_else(|| unfit(&name))?;
        // Marked as sensitive, so that it is neither indexed by HTTP/2 nor printed.
        value.set_sensitive(true);
        Ok((header, value))
    });
    each.collect()
}

impl PreparedTarget {
    pub fn with(self, endpoint: Endpoint) -> Target {
        let plan = endpoint.plan.clone();
        Target {
            id: endpoint.id.to_string().into(),
            plan: Arc::new(
                plan.unwrap_or_else(|| RetryPlan::Schedule(self.profile.schedule.clone())),
            ),
            timeout: endpoint.timeout.unwrap_or(self.profile.timeout),
            url: self.url,
            profile: self.profile,
            keys: self.keys,
            until: self.until,
            headers: self.headers,
            endpoint,
        }
    }
}

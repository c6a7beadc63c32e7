//! The state of the dashboard: what its pages share.

use std::sync::{Arc, OnceLock};

use gancho_access::SessionCookie;
use gancho_domain::Clock;
use http::HeaderMap;

use crate::{
    backend::Backend,
    cookies,
    escape::Text,
    login_links::LoginLinks,
    portal::{Portal, PortalSettings},
    profiles::ProfileDefaults,
    sealed::SealKey,
    tenant_shares::TenantShares,
    timed_cache::TimedCache,
};

pub struct Setup {
    pub backend: Arc<dyn Backend>,
    pub clock: Arc<dyn Clock>,
    /// The public URL of the gateway, without a trailing slash.
    pub public_url: String,
    pub portal: PortalSettings,
    pub login_links: Arc<LoginLinks>,
    /// The presets of sources that need no more than their name.
    pub presets: &'static [&'static str],
    /// The profiles that endpoints can have, by name.
    pub profiles: Vec<ProfileDefaults>,
    /// The names of the plans that tenants can have.
    pub plans: Vec<String>,
    /// At least 256 bits that all nodes share, to seal forms that wait for a login.
    pub draft_secret: String,
}

pub struct Dashboard {
    pub backend: Arc<dyn Backend>,
    pub clock: Arc<dyn Clock>,
    pub portal: Portal,
    pub login_links: Arc<LoginLinks>,
    /// By id; empty for an endpoint that was deleted.
    pub endpoint_names: TimedCache<String, Text>,
    /// By the name of the range.
    pub tenant_shares: TimedCache<&'static str, Arc<TenantShares>>,
    /// Whether this part of the gateway is in use. It is a setting, so it is asked for once.
    pub has_email: OnceLock<bool>,
    pub has_receiving: OnceLock<bool>,
    pub presets: &'static [&'static str],
    pub profiles: Vec<ProfileDefaults>,
    pub plans: Vec<String>,
    /// Seals forms that wait for a login.
    pub draft_key: Option<SealKey>,
    pub public_url: String,
}

impl Dashboard {
    pub fn new(setup: Setup) -> Self {
        let Setup { backend, clock, public_url, portal, login_links, .. } = setup;
        let Setup { presets, profiles, plans, draft_secret, .. } = setup;
        Self {
            backend,
            clock,
            portal: Portal::new(portal),
            login_links,
            endpoint_names: TimedCache::default(),
            tenant_shares: TimedCache::default(),
            has_email: OnceLock::new(),
            has_receiving: OnceLock::new(),
            presets,
            profiles,
            plans,
            draft_key: SealKey::derive("drafts", &draft_secret),
            public_url,
        }
    }

    /// Whether browsers reach it by HTTPS, and cookies must not be sent without.
    pub fn is_secure(&self) -> bool {
        self.public_url.starts_with("https://")
    }

    /// The cookie of a session that this gateway has made, be the session over or not.
    pub fn session_cookie(&self, headers: &HeaderMap) -> Option<SessionCookie> {
        let mut cookies = cookies::read_all(headers, cookies::session(self.is_secure())).take(8);
        cookies.find_map(|cookie| self.backend.session_cookie(cookie))
    }
}

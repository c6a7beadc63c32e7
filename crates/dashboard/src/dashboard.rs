//! The state that the pages of the dashboard share.

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
    /// The presets of sources that need only a name.
    pub presets: &'static [&'static str],
    /// The profiles that endpoints can have, by name.
    pub profiles: Vec<ProfileDefaults>,
    /// The names of the plans that tenants can have.
    pub plans: Vec<String>,
    /// At least 256 bits that all nodes share, to encrypt forms that wait for a login.
    pub draft_secret: String,
}

pub struct Dashboard {
    pub backend: Arc<dyn Backend>,
    pub clock: Arc<dyn Clock>,
    pub portal: Portal,
    pub login_links: Arc<LoginLinks>,
    /// Names by id; empty for a deleted endpoint.
    pub endpoint_names: TimedCache<String, Text>,
    /// Shares by the name of the range.
    pub tenant_shares: TimedCache<&'static str, Arc<TenantShares>>,
    /// Whether e-mail is in use. It is a setting, so it is read once.
    pub has_email: OnceLock<bool>,
    pub has_receiving: OnceLock<bool>,
    pub presets: &'static [&'static str],
    pub profiles: Vec<ProfileDefaults>,
    pub plans: Vec<String>,
    /// The key that encrypts forms that wait for a login.
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

    /// Whether browsers use HTTPS, so that cookies must not be sent without it.
    pub fn is_secure(&self) -> bool {
        self.public_url.starts_with("https://")
    }

    /// Returns the cookie of a session that this gateway has made, even if the session is over.
    pub fn session_cookie(&self, headers: &HeaderMap) -> Option<SessionCookie> {
        let mut cookies = cookies::read_all(headers, cookies::session(self.is_secure())).take(8);
        cookies.find_map(|cookie| self.backend.session_cookie(cookie))
    }
}

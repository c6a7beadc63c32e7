//! The owner of endpoints, events and e-mails.

use std::time::Duration;

use crate::{Rate, TenantId, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    pub id: TenantId,
    /// The human name in paths and logs, such as `m2`. Unique.
    pub slug: String,
    pub name: String,
    /// The name of its plan, which limits endpoints and events.
    pub plan: String,
    /// The default wire profile of its endpoints.
    pub default_profile: String,
    /// Only registered event types may be published.
    pub strict_event_types: bool,
    /// The publish rate. Default: the setting for all tenants.
    pub publish_rate: Option<Rate>,
    pub retention: TenantRetention,
    pub created_at: Time,
}

/// How long a tenant's data is stored, by kind. Default: the settings for all tenants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TenantRetention {
    /// Events with their deliveries. Events whose deliveries have not all ended stay.
    pub events: Option<Duration>,
    /// E-mails with their deliveries, in the same way.
    pub emails: Option<Duration>,
    /// Dead letters, until they are archived.
    pub dead_letters: Option<Duration>,
}

/// Reserved slugs. No tenant can be created with one.
pub const RESERVED_SLUGS: [&str; 6] =
    [Tenant::OPERATOR, "admin", "gancho", "gateway", "internal", "system"];

impl Tenant {
    pub const UNLIMITED: &str = "unlimited";
    /// The slug of the operator's tenant: its endpoints get notices about all other tenants.
    pub const OPERATOR: &str = "operator";

    pub fn is_operators(&self) -> bool {
        self.slug == Self::OPERATOR
    }

    /// Creates a tenant without limits, with the standard profile.
    pub fn new(id: TenantId, slug: impl Into<String>, created_at: Time) -> Self {
        let slug = slug.into();
        Self {
            id,
            name: slug.clone(),
            slug,
            plan: Self::UNLIMITED.to_owned(),
            default_profile: "standard".to_owned(),
            strict_event_types: false,
            publish_rate: None,
            retention: TenantRetention::default(),
            created_at,
        }
    }
}

/// The permission to access one tenant's data. Every tenant-facing store method takes one first, so that
/// forgetting the tenant does not compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TenantScope(TenantId);

impl TenantScope {
    /// Grants access to an authenticated caller. Only `access` may call it.
    pub const fn granted(tenant: TenantId) -> Self {
        Self(tenant)
    }

    /// Grants access for the gateway's own work, which has no caller: carriers, upkeep, the operator's
    /// commands.
    pub const fn internal(tenant: TenantId) -> Self {
        Self(tenant)
    }

    pub const fn tenant(self) -> TenantId {
        self.0
    }
}

/// Whether the text is a slug: at most 63 lower-case letters, digits and dashes, beginning with a letter or
/// digit.
pub fn is_slug(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=63).contains(&text.len())
        && text.bytes().all(|byte| plain(byte) || byte == b'-' || byte == b'_')
        && text.bytes().next().is_some_and(plain)
}

#[cfg(test)]
mod tests {
    use super::is_slug;

    #[test]
    fn slugs() {
        for good in ["m2", "a", "0x", "acme-corp", "acme_corp", &"a".repeat(63)] {
            assert!(is_slug(good), "{good}");
        }
        for bad in ["", "-a", "_a", "A", "a b", "a/b", "..", "ü", "a\0", "a.b", &"a".repeat(64)] {
            assert!(!is_slug(bad), "{bad}");
        }
    }
}

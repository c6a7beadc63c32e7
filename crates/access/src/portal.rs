//! Portal tokens: access to the dashboard for one tenant and a short time. Nothing is stored: the token
//! contains its claims, authenticated by a tag that only this gateway can compute.

use std::{sync::Arc, time::Duration};

use data_encoding::BASE64URL_NOPAD;
use gancho_domain::{Clock, Tenant, TenantId, Time};
use gancho_store::Result;
use gancho_vault::{DerivedKeys, KeyRing};

use crate::{Right, Rights, TenantCache};

pub const PREFIX: &str = "gp_";
const VERSION: u8 = 1;
const CLAIM_BYTES: usize = 1 + 4 + 16 + 8 + 1;

/// A link cannot be revoked, so it expires soon.
pub const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);
pub const DEFAULT_TTL: Duration = Duration::from_secs(60 * 60);

pub struct PortalTokens {
    /// Keys are derived at each use, because the ring may get a new key at any time.
    ring: Arc<KeyRing>,
    clock: Arc<dyn Clock>,
}

pub fn is_token(token: &str) -> bool {
    token.starts_with(PREFIX)
}

impl PortalTokens {
    pub fn new(ring: Arc<KeyRing>, clock: Arc<dyn Clock>) -> Self {
        Self { ring, clock }
    }

    fn keys(&self) -> DerivedKeys {
        self.ring.derive("portal tokens")
    }

    /// The rights of a portal token: read and manage. Publishing is for programs.
    pub fn rights() -> Rights {
        Rights::default().with(Right::Read).with(Right::Manage)
    }

    pub fn make(&self, tenant: TenantId, until: Time, rights: Rights) -> String {
        let keys = self.keys();
        let key = keys.newest();
        let mut claim = Vec::with_capacity(CLAIM_BYTES + 32);
        claim.push(VERSION);
        claim.extend_from_slice(&key.to_be_bytes());
        claim.extend_from_slice(&tenant.bytes());
        claim.extend_from_slice(&until.micros().to_be_bytes());
        claim.push(rights.bits());
        let tag = keys.tag(key, &[&claim]).unwrap_or_default();
        claim.extend_from_slice(&tag);
        format!("{PREFIX}{}", BASE64URL_NOPAD.encode(&claim))
    }

    pub async fn verify(
        &self,
        tenants: &TenantCache,
        token: &str,
    ) -> Result<Option<(Arc<Tenant>, Rights)>> {
        let Some((tenant, rights)) = self.read(token) else { return Ok(None) };
        Ok(tenants.get(tenant).await?.map(|tenant| (tenant, rights)))
    }

    fn read(&self, token: &str) -> Option<(TenantId, Rights)> {
        let text = token.strip_prefix(PREFIX)?;
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        let (claim, tag) = bytes.split_at_checked(CLAIM_BYTES)?;
        let (version, rest) = claim.split_first()?;
        let (key, rest) = rest.split_first_chunk::<4>()?;
        let (tenant, rest) = rest.split_first_chunk::<16>()?;
        let (until, rights) = rest.split_first_chunk::<8>()?;
        let is_authentic =
            tag.len() == 32 && self.keys().verify(u32::from_be_bytes(*key), &[claim], tag);
        let until = Time::from_micros(i64::from_be_bytes(*until));
        if *version != VERSION || !is_authentic || self.clock.now() >= until {
            return None;
        }
        Some((TenantId::from_bytes(*tenant), Rights::from_bits(*rights.first()?)?))
    }
}

#[cfg(test)]
mod tests {
    use gancho_domain::ManualClock;

    use super::*;

    #[test]
    fn good_for_its_tenant_until_its_time() {
        let clock = Arc::new(ManualClock::at_secs(1_000));
        let ring = || Arc::new(KeyRing::generate().unwrap());
        let tokens = PortalTokens::new(ring(), clock.clone());
        let tenant = TenantId::from_bits(42);
        let token = tokens.make(tenant, Time::from_secs(1_010), PortalTokens::rights());
        assert_eq!(tokens.read(&token), Some((tenant, PortalTokens::rights())));
        assert!(PortalTokens::new(ring(), clock.clone()).read(&token).is_none());
        clock.set(Time::from_secs(1_010));
        assert_eq!(tokens.read(&token), None);
    }

    #[test]
    fn every_changed_bit_is_noticed() {
        let clock = Arc::new(ManualClock::at_secs(1_000));
        let tokens = PortalTokens::new(Arc::new(KeyRing::generate().unwrap()), clock);
        let token = tokens.make(TenantId::from_bits(42), Time::MAX, PortalTokens::rights());
        let bytes = BASE64URL_NOPAD.decode(&token.as_bytes()[3..]).unwrap();
        for at in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[at / 8] ^= 1 << (at % 8);
            assert!(tokens.read(&format!("gp_{}", BASE64URL_NOPAD.encode(&changed))).is_none());
        }
        for malformed in ["gp_", "gp_A", "gp_!", &token[..40], &format!("{token}AAAA")] {
            assert!(tokens.read(malformed).is_none());
        }
    }
}

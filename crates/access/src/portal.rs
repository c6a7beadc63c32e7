//! Portal tokens: access to the portal for one tenant and a short time. Nothing is stored: the token contains
//! its claims, authenticated by a tag that only this gateway can compute.

use std::{sync::Arc, time::Duration};

use data_encoding::BASE64URL_NOPAD;
use gancho_domain::{Clock, TenantId, Time};
use gancho_vault::{DerivedKeys, KeyRing};
use thiserror::Error;

use crate::{Right, Rights};

pub const PREFIX: &str = "gp_";
const VERSION: u8 = 2;
pub(crate) const CLAIM_BYTES: usize = 1 + 4 + 16 + 8 + 8 + 1;

/// Maximum lifetime. Links can only be revoked all at once, so they expire soon.
pub const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);
pub const DEFAULT_TTL: Duration = Duration::from_secs(60 * 60);

pub struct PortalTokens {
    /// Keys are derived at each use, because the ring may get a new key at any time.
    pub(crate) ring: Arc<KeyRing>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The content of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortalClaim {
    pub tenant: TenantId,
    pub made_at: Time,
    pub until: Time,
    pub rights: Rights,
}

/// Why a link does not open the portal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PortalLinkError {
    #[error("the portal link is not valid")]
    Invalid,
    /// The link was valid once, so this reveals nothing.
    #[error("the portal link has expired")]
    Expired,
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

    /// Returns the rights of a portal token: read and manage. Publishing is for programs.
    pub fn rights() -> Rights {
        Rights::default().with(Right::Read).with(Right::Manage)
    }

    pub fn make(&self, tenant: TenantId, until: Time, rights: Rights) -> String {
        let keys = self.keys();
        let key = keys.newest();
        let made_at = self.clock.now();
        let mut token = PortalClaim { tenant, made_at, until, rights }.encode(key);
        let tag = keys.tag(key, &[&token]).unwrap_or_default();
        token.extend_from_slice(&tag);
        format!("{PREFIX}{}", BASE64URL_NOPAD.encode(&token))
    }

    /// Returns the claim, if the token is authentic and still valid.
    pub fn read(&self, token: &str) -> Result<PortalClaim, PortalLinkError> {
        let claim = self.authentic(token).ok_or(PortalLinkError::Invalid)?;
        if self.clock.now() >= claim.until {
            return Err(PortalLinkError::Expired);
        }
        Ok(claim)
    }

    fn authentic(&self, token: &str) -> Option<PortalClaim> {
        let text = token.strip_prefix(PREFIX)?;
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        let (claim, tag) = bytes.split_at_checked(CLAIM_BYTES)?;
        let (key, decoded) = PortalClaim::decode(claim)?;
        (tag.len() == 32 && self.keys().verify(key, &[claim], tag)).then_some(decoded)
    }
}

impl PortalClaim {
    /// Encodes the claim with the number of the key that authenticates it.
    pub(crate) fn encode(&self, key: u32) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(CLAIM_BYTES + 64);
        bytes.push(VERSION);
        bytes.extend_from_slice(&key.to_be_bytes());
        bytes.extend_from_slice(&self.tenant.bytes());
        bytes.extend_from_slice(&self.made_at.micros().to_be_bytes());
        bytes.extend_from_slice(&self.until.micros().to_be_bytes());
        bytes.push(self.rights.bits());
        bytes
    }

    pub(crate) fn decode(claim: &[u8]) -> Option<(u32, Self)> {
        let (version, rest) = claim.split_first()?;
        let (key, rest) = rest.split_first_chunk::<4>()?;
        let (tenant, rest) = rest.split_first_chunk::<16>()?;
        let (made_at, rest) = rest.split_first_chunk::<8>()?;
        let (until, rights) = rest.split_first_chunk::<8>()?;
        let decoded = Self {
            tenant: TenantId::from_bytes(*tenant),
            made_at: Time::from_micros(i64::from_be_bytes(*made_at)),
            until: Time::from_micros(i64::from_be_bytes(*until)),
            rights: Rights::from_bits(*rights.first()?)?,
        };
        (*version == VERSION).then_some((u32::from_be_bytes(*key), decoded))
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
        let until = Time::from_secs(1_010);
        let (made_at, rights) = (Time::from_secs(1_000), PortalTokens::rights());
        let claim = PortalClaim { tenant, made_at, until, rights };
        assert_eq!(tokens.read(&token), Ok(claim));
        let others = PortalTokens::new(ring(), clock.clone());
        assert_eq!(others.read(&token), Err(PortalLinkError::Invalid));
        clock.set(until);
        assert_eq!(tokens.read(&token), Err(PortalLinkError::Expired));
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
            let changed = format!("gp_{}", BASE64URL_NOPAD.encode(&changed));
            assert_eq!(tokens.read(&changed), Err(PortalLinkError::Invalid));
        }
        for malformed in ["gp_", "gp_A", "gp_!", &token[..40], &format!("{token}AAAA")] {
            assert_eq!(tokens.read(malformed), Err(PortalLinkError::Invalid));
        }
    }
}

//! Sessions of the portal. A browser exchanges the token of a link for a session cookie, so that the token
//! does not stay in its history. Sessions are not stored, and neither are links: every node accepts them, and
//! they end with the link.

use std::sync::Arc;

use aws_lc_rs::{constant_time::verify_slices_are_equal, rand};
use data_encoding::BASE64URL_NOPAD;
use gancho_domain::{Tenant, Time};
use gancho_store::StoreError;
use thiserror::Error;

use crate::{
    Access, AccessError, PortalTokens, Principal, Right, TenantPrincipal,
    portal::{CLAIM_BYTES, PortalClaim, PortalLinkError},
};

const NONCE_BYTES: usize = 16;
const TAG_BYTES: usize = 32;

/// A person who opened the portal of a tenant. It acts for that tenant, and cannot become the operator.
#[derive(Debug, Clone)]
pub struct PortalSession {
    principal: TenantPrincipal,
    claim: PortalClaim,
    id: [u8; NONCE_BYTES],
    /// The token that every form of this session must contain.
    csrf: String,
}

/// A new session: the value of its cookie, and when it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPortalSession {
    pub cookie: String,
    pub until: Time,
}

impl PortalSession {
    pub fn principal(&self) -> Principal {
        Principal::Tenant(self.principal.clone())
    }

    pub fn tenant(&self) -> &Arc<Tenant> {
        self.principal.tenant()
    }

    pub fn id(&self) -> [u8; NONCE_BYTES] {
        self.id
    }

    pub fn until(&self) -> Time {
        self.claim.until
    }

    pub fn may_manage(&self) -> bool {
        self.principal.rights().has(Right::Manage)
    }

    pub fn csrf(&self) -> &str {
        &self.csrf
    }

    /// Whether a form's token is that of this session.
    pub fn has_csrf(&self, token: &str) -> bool {
        verify_slices_are_equal(self.csrf.as_bytes(), token.as_bytes()).is_ok()
    }
}

/// The content of a cookie.
struct SessionClaim {
    claim: PortalClaim,
    id: [u8; NONCE_BYTES],
    csrf: String,
}

impl PortalTokens {
    /// Exchanges the token of a link for a session with its rights that ends when the link expires.
    fn begin_session(&self, link: &str) -> Result<NewPortalSession, PortalLinkError> {
        let claim = self.read(link)?;
        let mut id = [0; NONCE_BYTES];
        rand::fill(&mut id).map_err(|_| PortalLinkError::Invalid)?;
        let keys = self.ring.derive("portal sessions");
        let key = keys.newest();
        let mut bytes = claim.encode(key);
        bytes.extend_from_slice(&id);
        let tag = keys.tag(key, &[&bytes]).ok_or(PortalLinkError::Invalid)?;
        bytes.extend_from_slice(&tag);
        Ok(NewPortalSession { cookie: BASE64URL_NOPAD.encode(&bytes), until: claim.until })
    }

    fn read_session(&self, cookie: &str) -> Option<SessionClaim> {
        let bytes = BASE64URL_NOPAD.decode(cookie.as_bytes()).ok()?;
        let (signed, tag) = bytes.split_at_checked(CLAIM_BYTES + NONCE_BYTES)?;
        let (claim, id) = signed.split_at_checked(CLAIM_BYTES)?;
        let (key, claim) = PortalClaim::decode(claim)?;
        let is_authentic = tag.len() == TAG_BYTES
            && self.ring.derive("portal sessions").verify(key, &[signed], tag);
        if !is_authentic || self.clock.now() >= claim.until {
            return None;
        }
        let csrf = self.ring.derive("portal forms").tag(key, &[signed])?;
        Some(SessionClaim { claim, id: id.try_into().ok()?, csrf: BASE64URL_NOPAD.encode(&csrf) })
    }
}

impl Access {
    /// Exchanges the token of a link for a session.
    pub async fn open_portal(&self, link: &str) -> Result<NewPortalSession, OpenPortalError> {
        let claim = self.portal.read(link)?;
        let person = self.portal_person(&claim).await?;
        person.ok_or(PortalLinkError::Expired)?;
        Ok(self.portal.begin_session(link)?)
    }

    /// Returns the session of a cookie. It ends when the links of its tenant are revoked, and with the
    /// tenant.
    pub async fn portal_session(&self, cookie: &str) -> Result<Option<PortalSession>, AccessError> {
        let Some(read) = self.portal.read_session(cookie) else { return Ok(None) };
        let SessionClaim { claim, id, csrf } = read;
        let person = self.portal_person(&claim).await?;
        Ok(person.map(|principal| PortalSession { principal, claim, id, csrf }))
    }

    /// Whether a session that was open still is. While the store is unavailable, it counts as open.
    pub async fn is_portal_session_open(&self, session: &PortalSession) -> bool {
        self.portal.clock.now() < session.until()
            && !matches!(self.portal_person(&session.claim).await, Ok(None))
    }

    /// Returns the owner of an authentic link or session, unless it was revoked.
    pub(crate) async fn portal_person(
        &self,
        claim: &PortalClaim,
    ) -> Result<Option<TenantPrincipal>, StoreError> {
        let Some(tenant) = self.tenants.get(claim.tenant).await? else { return Ok(None) };
        if tenant.is_operators() {
            return Ok(None);
        }
        let person = TenantPrincipal::of_person(tenant, claim.rights);
        let is_revoked = self.portal_revocations.has(person.scope(), claim.made_at).await?;
        Ok((!is_revoked).then_some(person))
    }
}

/// Why a link did not open the portal.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OpenPortalError {
    #[error(transparent)]
    Link(#[from] PortalLinkError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[cfg(test)]
mod tests {
    use gancho_domain::{ManualClock, TenantId};
    use gancho_vault::KeyRing;

    use super::*;

    fn tokens() -> (PortalTokens, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at_secs(1_000));
        (PortalTokens::new(Arc::new(KeyRing::generate().unwrap()), clock.clone()), clock)
    }

    #[test]
    fn a_session_has_the_tenant_and_the_end_of_its_link() {
        let (tokens, clock) = tokens();
        let (tenant, until) = (TenantId::from_bits(42), Time::from_secs(1_010));
        let link = tokens.make(tenant, until, PortalTokens::rights());
        let first = tokens.begin_session(&link).unwrap();
        let second = tokens.begin_session(&link).unwrap();
        assert_eq!(first.until, until);
        assert_ne!(first.cookie, second.cookie, "each has an id of its own");
        let read = |session: &NewPortalSession| tokens.read_session(&session.cookie).unwrap();
        assert_eq!(read(&first).claim, tokens.read(&link).unwrap());
        assert_ne!(read(&first).csrf, read(&second).csrf);
        clock.set(until);
        assert!(tokens.read_session(&first.cookie).is_none());
        assert_eq!(tokens.begin_session(&link), Err(PortalLinkError::Expired));
    }

    #[test]
    fn a_link_is_no_session_a_session_no_link_and_every_changed_bit_is_noticed() {
        let (tokens, _) = tokens();
        let link = tokens.make(TenantId::from_bits(42), Time::MAX, PortalTokens::rights());
        let session = tokens.begin_session(&link).unwrap().cookie;
        assert!(tokens.read_session(&link).is_none());
        assert!(tokens.read_session(link.trim_start_matches("gp_")).is_none());
        assert_eq!(tokens.read(&format!("gp_{session}")), Err(PortalLinkError::Invalid));
        let bytes = BASE64URL_NOPAD.decode(session.as_bytes()).unwrap();
        for at in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[at / 8] ^= 1 << (at % 8);
            assert!(tokens.read_session(&BASE64URL_NOPAD.encode(&changed)).is_none());
        }
        for malformed in ["", "A", "!", &session[..40], &format!("{session}AAAA")] {
            assert!(tokens.read_session(malformed).is_none());
        }
    }
}

//! Authenticated cursors: a cursor is valid for one list, one tenant and one set of filters, and clients
//! cannot construct or change one.

use std::sync::Arc;

use data_encoding::BASE64URL_NOPAD;
use gancho_domain::TenantId;
use gancho_vault::{DerivedKeys, KeyRing};

use crate::{codes, input::Values, problem::Problem};

const TAG_BYTES: usize = 16;
const VERSION: u8 = 1;

/// Keys are derived at each use, because the ring may get a new key at any time.
pub struct CursorSeal(Arc<KeyRing>);

/// The list that a cursor belongs to.
#[derive(Debug, Clone)]
pub struct CursorScope {
    path: &'static str,
    /// `None` for a list of the operator over all tenants.
    tenant: Option<TenantId>,
    filter: String,
}

impl CursorScope {
    /// Creates the scope of a list. `path` is the path of the route, so that both forms of a path share
    /// cursors.
    pub fn of(path: &'static str, tenant: Option<TenantId>, parameters: &Values<'_>) -> Self {
        Self { path, tenant, filter: parameters.fingerprint() }
    }

    /// Creates the scope of an operation whose filter is in its body.
    pub fn named(path: &'static str, tenant: TenantId, filter: String) -> Self {
        Self { path, tenant: Some(tenant), filter }
    }

    #[must_use]
    pub fn below(mut self, part: &str) -> Self {
        self.filter.push_str(";below=");
        self.filter.push_str(part);
        self
    }
}

impl CursorSeal {
    pub fn new(ring: Arc<KeyRing>) -> Self {
        Self(ring)
    }

    fn keys(&self) -> DerivedKeys {
        self.0.derive("cursors")
    }

    pub fn seal(&self, scope: &CursorScope, position: &[u8]) -> String {
        let keys = self.keys();
        let key = keys.newest();
        let tag = keys.tag(key, &parts(scope, position)).unwrap_or_default();
        let mut bytes = Vec::with_capacity(1 + 4 + position.len() + TAG_BYTES);
        bytes.push(VERSION);
        bytes.extend_from_slice(&key.to_be_bytes());
        bytes.extend_from_slice(position);
        bytes.extend_from_slice(&tag[..TAG_BYTES]);
        BASE64URL_NOPAD.encode(&bytes)
    }

    pub fn open(&self, scope: &CursorScope, cursor: &str) -> Result<Vec<u8>, Problem> {
        self.try_open(scope, cursor).ok_or_else(|| {
            Problem::new(
                &codes::BAD_CURSOR,
                "the cursor is not valid for this list with these filters; start again without it",
            )
        })
    }

    fn try_open(&self, scope: &CursorScope, cursor: &str) -> Option<Vec<u8>> {
        let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok()?;
        let (body, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG_BYTES)?)?;
        let (version, body) = body.split_first()?;
        let (key, position) = body.split_first_chunk::<4>()?;
        let key = u32::from_be_bytes(*key);
        let is_authentic = self.keys().verify(key, &parts(scope, position), tag);
        (*version == VERSION && is_authentic).then(|| position.to_vec())
    }
}

fn parts<'a>(scope: &'a CursorScope, position: &'a [u8]) -> Vec<Vec<u8>> {
    let tenant = scope.tenant.map_or(Vec::new(), |tenant| tenant.bytes().to_vec());
    vec![scope.path.into(), tenant, scope.filter.as_bytes().to_vec(), position.to_vec()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(path: &'static str, tenant: u128, filter: &str) -> CursorScope {
        CursorScope { path, tenant: Some(TenantId::from_bits(tenant)), filter: filter.to_owned() }
    }

    #[test]
    fn good_where_it_was_made_and_nowhere_else() {
        let ring = Arc::new(KeyRing::generate().unwrap());
        let seal = CursorSeal::new(ring.clone());
        let here = scope("/deliveries", 1, "status=failed");
        let cursor = seal.seal(&here, &[7; 32]);
        assert_eq!(seal.open(&here, &cursor).unwrap(), [7; 32]);
        for elsewhere in [
            scope("/events", 1, "status=failed"),
            scope("/deliveries", 2, "status=failed"),
            scope("/deliveries", 1, "status=delivered"),
            CursorScope { tenant: None, ..here.clone() },
        ] {
            assert!(seal.open(&elsewhere, &cursor).is_err(), "{elsewhere:?}");
        }
        let other = CursorSeal::new(Arc::new(KeyRing::generate().unwrap()));
        assert!(other.open(&here, &cursor).is_err());
        let later = CursorSeal::new(Arc::new(ring.with_new_key().unwrap()));
        assert!(later.open(&here, &cursor).is_ok(), "an old key still opens");
    }

    #[test]
    fn every_changed_bit_is_noticed() {
        let seal = CursorSeal::new(Arc::new(KeyRing::generate().unwrap()));
        let here = scope("/deliveries", 1, "");
        let bytes = BASE64URL_NOPAD.decode(seal.seal(&here, b"abc").as_bytes()).unwrap();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                assert!(seal.open(&here, &BASE64URL_NOPAD.encode(&changed)).is_err());
            }
            assert!(seal.open(&here, &BASE64URL_NOPAD.encode(&bytes[..at])).is_err());
        }
        for malformed in ["", "!", "{\"id\":1}", "AAAA", &"A".repeat(10_000)] {
            assert!(seal.open(&here, malformed).is_err());
        }
    }
}

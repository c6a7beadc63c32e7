//! Encrypts the secret parts of an endpoint, bound to their row and column.

use std::collections::BTreeMap;

use gancho_domain::{Endpoint, EndpointId, TenantId};
use gancho_vault::{KeyRing, Secret, SecretLocation};

/// Custom headers by name, as the tenant wrote it.
pub type Headers = BTreeMap<String, String>;

/// The row of an endpoint, to which ciphertexts are bound.
pub struct SecretRow {
    tenant: [u8; 16],
    endpoint: [u8; 16],
}

pub fn place(tenant: TenantId, endpoint: EndpointId) -> SecretRow {
    SecretRow { tenant: tenant.bytes(), endpoint: endpoint.bytes() }
}

impl SecretRow {
    /// The place of the current secret and of rotated ones, which move without being decrypted.
    pub fn as_place(&self) -> SecretLocation<'_> {
        self.column("secret")
    }

    pub fn headers(&self) -> SecretLocation<'_> {
        self.column("headers")
    }

    fn column<'a>(&'a self, column: &'a str) -> SecretLocation<'a> {
        SecretLocation { tenant: &self.tenant, table: "endpoints", column, row: &self.endpoint }
    }
}

pub fn secret(ring: &KeyRing, endpoint: &Endpoint) -> Result<Secret, String> {
    open_secret(ring, endpoint, &endpoint.sealed_secret)
}

/// Decrypts the current secret or a rotated one.
pub fn open_secret(ring: &KeyRing, endpoint: &Endpoint, sealed: &[u8]) -> Result<Secret, String> {
    ring.open(place(endpoint.tenant, endpoint.id).as_place(), sealed)
        .map_err(|error| error.to_string())
}

pub fn seal_secret(ring: &KeyRing, endpoint: &Endpoint, secret: &str) -> Result<Vec<u8>, String> {
    let place = place(endpoint.tenant, endpoint.id);
    ring.seal(place.as_place(), secret).map_err(|error| error.to_string())
}

pub fn headers(ring: &KeyRing, endpoint: &Endpoint) -> Result<Headers, String> {
    let Some(sealed) = &endpoint.sealed_headers else {
        return Ok(Headers::new());
    };
    let place = place(endpoint.tenant, endpoint.id);
    let text = ring.open(place.headers(), sealed).map_err(|error| error.to_string())?;
    // The error is not shown, since it could quote the secret.
    serde_json::from_str(&text).map_err(|_| "the stored headers are corrupt".to_owned())
}

/// Encrypts the headers. Returns `None` if there are none.
pub fn seal_headers(
    ring: &KeyRing,
    endpoint: &Endpoint,
    headers: &Headers,
) -> Result<Option<Vec<u8>>, String> {
    if headers.is_empty() {
        return Ok(None);
    }
    let text =
        serde_json::to_string(headers).map(Secret::new).map_err(|error| error.to_string())?;
    let place = place(endpoint.tenant, endpoint.id);
    ring.seal(place.headers(), &text).map(Some).map_err(|error| error.to_string())
}

/// Re-encrypts everything that was not encrypted with the newest key, and returns whether anything changed.
pub fn reseal(ring: &KeyRing, endpoint: &mut Endpoint) -> Result<bool, String> {
    let place = place(endpoint.tenant, endpoint.id);
    let mut changed = false;
    let secrets = endpoint.old_secrets.iter_mut().map(|old| &mut old.sealed);
    let secrets =
        secrets.chain([&mut endpoint.sealed_secret]).map(|sealed| (sealed, place.as_place()));
    let headers = endpoint.sealed_headers.iter_mut().map(|sealed| (sealed, place.headers()));
    for (sealed, place) in secrets.chain(headers) {
        if KeyRing::key_of(sealed) == Some(ring.newest()) {
            continue;
        }
        let text = ring.open(place, sealed).map_err(|error| error.to_string())?;
        *sealed = ring.seal(place, &text).map_err(|error| error.to_string())?;
        changed = true;
    }
    Ok(changed)
}

//! Encrypts a source's secrets, bound to the source, the column and the row.

use data_encoding::BASE64;
use gancho_vault::{KeyRing, Secret, SecretLocation};
use gancho_wire::SecretEncoding;

use crate::{Source, SourceKey, source::document_key};

fn open(
    ring: &KeyRing,
    source: &Source,
    column: &str,
    row: &str,
    sealed: &str,
) -> Result<Secret, String> {
    let sealed = BASE64.decode(sealed.as_bytes()).map_err(|_| "a stored secret is not base64")?;
    let tenant = source.id.bytes();
    let place = place(&tenant, column, row);
    ring.open(place, &sealed).map_err(|error| error.to_string())
}

fn seal(
    ring: &KeyRing,
    source: &Source,
    column: &str,
    row: &str,
    secret: &str,
) -> Result<String, String> {
    let tenant = source.id.bytes();
    let sealed =
        ring.seal(place(&tenant, column, row), secret).map_err(|error| error.to_string())?;
    Ok(BASE64.encode(&sealed))
}

fn place<'a>(tenant: &'a [u8; 16], column: &'a str, row: &'a str) -> SecretLocation<'a> {
    let table = if column == "secret" { "source_keys" } else { "sources" };
    SecretLocation { tenant, table, column, row: row.as_bytes() }
}

pub(crate) fn key_secret(
    ring: &KeyRing,
    source: &Source,
    key: &SourceKey,
) -> Result<Secret, String> {
    let sealed = key.sealed.as_deref().ok_or("the key has no secret")?;
    open(ring, source, "secret", &document_key(&source.partner, &key.key_id), sealed)
}

pub(crate) fn seal_key(
    ring: &KeyRing,
    source: &Source,
    key: &mut SourceKey,
    secret: &str,
) -> Result<(), String> {
    let row = document_key(&source.partner, &key.key_id);
    key.sealed = Some(seal(ring, source, "secret", &row, secret)?);
    Ok(())
}

pub(crate) fn dispatch_secret(ring: &KeyRing, source: &Source) -> Result<Secret, String> {
    let sealed = &source.sealed_dispatch_secret;
    open(ring, source, "dispatch_secret", source.partner.as_str(), sealed)
}

pub(crate) fn seal_dispatch(
    ring: &KeyRing,
    source: &mut Source,
    secret: &str,
) -> Result<(), String> {
    let sealed = seal(ring, source, "dispatch_secret", source.partner.as_str(), secret)?;
    source.sealed_dispatch_secret = sealed;
    Ok(())
}

pub(crate) fn verify_token(ring: &KeyRing, source: &Source) -> Result<Option<Secret>, String> {
    let Some(sealed) = &source.sealed_verify_token else { return Ok(None) };
    open(ring, source, "verify_token", source.partner.as_str(), sealed).map(Some)
}

pub(crate) fn seal_verify_token(
    ring: &KeyRing,
    source: &mut Source,
    token: Option<&str>,
) -> Result<(), String> {
    let sealed = |token| seal(ring, source, "verify_token", source.partner.as_str(), token);
    source.sealed_verify_token = token.map(sealed).transpose()?;
    Ok(())
}

pub(crate) fn encoding(key: &SourceKey) -> SecretEncoding {
    match key.encoding.as_str() {
        "base64" => SecretEncoding::Base64,
        "hex" => SecretEncoding::Hex,
        _ => SecretEncoding::Raw,
    }
}

/// Whether the value is not encrypted with the newest key.
fn is_old(ring: &KeyRing, sealed: &str) -> bool {
    key_of(sealed) != Some(ring.newest())
}

/// Re-encrypts everything that was not encrypted with the newest key, and returns whether anything changed.
pub(crate) fn reseal_source(ring: &KeyRing, source: &mut Source) -> Result<bool, String> {
    let mut changed = false;
    if is_old(ring, &source.sealed_dispatch_secret) {
        let secret = dispatch_secret(ring, source)?;
        seal_dispatch(ring, source, &secret)?;
        changed = true;
    }
    if source.sealed_verify_token.as_deref().is_some_and(|sealed| is_old(ring, sealed)) {
        let token = verify_token(ring, source)?;
        seal_verify_token(ring, source, token.as_ref().map(|token| token.as_str()))?;
        changed = true;
    }
    Ok(changed)
}

pub(crate) fn reseal_key(
    ring: &KeyRing,
    source: &Source,
    key: &mut SourceKey,
) -> Result<bool, String> {
    if !key.sealed.as_deref().is_some_and(|sealed| is_old(ring, sealed)) {
        return Ok(false);
    }
    let secret = key_secret(ring, source, key)?;
    seal_key(ring, source, key, &secret)?;
    Ok(true)
}

/// Returns the number of the key that encrypted the value.
pub(crate) fn key_of(sealed: &str) -> Option<u32> {
    KeyRing::key_of(&BASE64.decode(sealed.as_bytes()).unwrap_or_default())
}

//! `X-Policy-Sign`: the gateway's signature of what it received, as proof for the partner.
//!
//! The header reads `ed25519=<base64>; receipt=rcp_…; t=<unix ms>; kid=<key>`. The signature covers the bytes
//! of `<receipt id>.<SHA-256 of the body, in hex>.<t>`. Its Ed25519 key has that id at
//! `/.well-known/jwks.json`.

use data_encoding::{BASE64, HEXLOWER};
use gancho_domain::{ReceiptId, Time};

use crate::keys::signing_keys::SigningKeys;

pub const HEADER: &str = "x-policy-sign";

pub fn policy_sign(
    keys: &SigningKeys,
    receipt: ReceiptId,
    body_sha256: &[u8; 32],
    at: Time,
) -> String {
    let current = keys.current();
    let time = at.millis();
    let base = format!("{receipt}.{}.{time}", HEXLOWER.encode(body_sha256));
    let signature = BASE64.encode(&current.signer().sign_bytes(base.as_bytes()));
    format!("ed25519={signature}; receipt={receipt}; t={time}; kid={}", current.kid())
}

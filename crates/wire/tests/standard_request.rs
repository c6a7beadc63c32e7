//! A valid Standard Webhooks request, as a start for the attacks.

use data_encoding::BASE64;
use gancho_wire::{Preset, VerifyError, VerifyingKey};

use crate::request::{Request, SECRET, hmac, recipe};

pub const TIME: &str = "1706012345";
pub const BODY: &str = r#"{"type":"ping"}"#;

pub fn mac_by(secret: &str, base: &str) -> Vec<u8> {
    hmac(&BASE64.decode(&secret.as_bytes()[6..]).unwrap(), base)
}

pub fn mac() -> Vec<u8> {
    mac_by(SECRET, &format!("msg_1.{TIME}.{BODY}"))
}

pub fn good() -> String {
    format!("v1,{}", BASE64.encode(&mac()))
}

pub fn bad() -> String {
    format!("v1,{}", BASE64.encode(&[0; 32]))
}

pub fn request() -> Request {
    Request::new(BODY)
        .add("webhook-id", "msg_1")
        .add("webhook-timestamp", TIME)
        .add("webhook-signature", good())
}

pub fn answer_to(request: &Request) -> Result<usize, VerifyError> {
    request.key(&recipe(&Preset::Standard), &[VerifyingKey::standard(SECRET).unwrap()])
}

pub fn answer(signature: impl AsRef<[u8]>) -> Result<usize, VerifyError> {
    answer_to(&request().set("webhook-signature", signature))
}

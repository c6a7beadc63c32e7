//! Values that a browser stores for the gateway for a short time, in a cookie: encrypted, so that they can be
//! neither read nor changed there, and bound to their purpose.

use std::time::Duration;

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey},
    digest,
};
use data_encoding::BASE64URL_NOPAD;
use gancho_domain::Time;

pub struct SealKey(RandomizedNonceKey);

impl SealKey {
    /// Derives a key from a secret of at least 256 bits.
    pub fn derive(purpose: &str, secret: &str) -> Option<Self> {
        let mut input = digest::Context::new(&digest::SHA256);
        input.update(purpose.as_bytes());
        input.update(&[0]);
        input.update(secret.as_bytes());
        RandomizedNonceKey::new(&AES_256_GCM, input.finish().as_ref()).ok().map(Self)
    }

    /// Encrypts a text until a time, for one place.
    pub fn seal(&self, place: &str, until: Time, text: &str) -> Option<String> {
        let mut bytes = until.micros().to_be_bytes().to_vec();
        bytes.extend_from_slice(text.as_bytes());
        let nonce = self.0.seal_in_place_append_tag(Aad::from(place), &mut bytes).ok()?;
        let mut sealed = nonce.as_ref().to_vec();
        sealed.append(&mut bytes);
        Some(BASE64URL_NOPAD.encode(&sealed))
    }

    /// Decrypts the text, if it was encrypted with this key for this place and has not expired.
    pub fn open(&self, place: &str, now: Time, sealed: &str) -> Option<String> {
        let mut bytes = BASE64URL_NOPAD.decode(sealed.as_bytes()).ok()?;
        let (nonce, rest) = bytes.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let plain = self.0.open_in_place(nonce, Aad::from(place), rest).ok()?;
        let (until, text) = plain.split_first_chunk::<8>()?;
        let is_over = now >= Time::from_micros(i64::from_be_bytes(*until));
        (!is_over).then(|| String::from_utf8(text.to_vec()).ok()).flatten()
    }
}

/// How long a secret that was just created waits for the page that shows it.
pub const ONCE_TTL: Duration = Duration::from_secs(60);
/// How long a form that arrived after the end of a session is stored.
pub const DRAFT_TTL: Duration = Duration::from_mins(15);
/// Maximum size. Browsers refuse cookies of more than 4,096 bytes, including name and attributes.
pub const MAX_SEALED: usize = 3_600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_key_place_and_time_open() {
        let key = SealKey::derive("a", "secret").unwrap();
        let at = Time::from_secs;
        let sealed = key.seal("/ui/x", at(60), "whsec_1").unwrap();
        assert!(!sealed.contains("whsec"));
        assert_eq!(key.open("/ui/x", at(59), &sealed).as_deref(), Some("whsec_1"));
        assert_eq!(key.open("/ui/x", at(60), &sealed), None, "its time is over");
        assert_eq!(key.open("/ui/y", at(59), &sealed), None, "another place");
        let other = SealKey::derive("a", "another").unwrap();
        assert_eq!(other.open("/ui/x", at(59), &sealed), None, "another session");
        let other = SealKey::derive("b", "secret").unwrap();
        assert_eq!(other.open("/ui/x", at(59), &sealed), None, "another purpose");
        for broken in ["", "a", "!", &sealed[..sealed.len() - 2], &sealed[2..]] {
            assert_eq!(key.open("/ui/x", at(59), broken), None, "{broken}");
        }
    }
}

//! Keys for purposes other than encrypting secrets, derived from the ring: for tokens and cursors that only
//! this gateway can make. Knowing one of them reveals nothing about the key ring.

use aws_lc_rs::hmac;

use crate::ring::KeyRing;

/// The derived keys of one purpose, one for each key of the ring.
pub struct DerivedKeys(Vec<(u32, hmac::Key)>);

impl KeyRing {
    /// Derives keys. The purpose is part of the derivation, so a tag for one purpose is invalid for another.
    pub fn derive(&self, purpose: &str) -> DerivedKeys {
        let keys = self.raw_keys().into_iter().map(|(id, key)| {
            let root = hmac::Key::new(hmac::HMAC_SHA256, &key);
            let mut context = hmac::Context::with_key(&root);
            context.update(b"gancho derived key v1\0");
            context.update(purpose.as_bytes());
            (id, hmac::Key::new(hmac::HMAC_SHA256, context.sign().as_ref()))
        });
        DerivedKeys(keys.collect())
    }
}

impl DerivedKeys {
    /// Returns the number of the key to make new tags with.
    pub fn newest(&self) -> u32 {
        self.0.iter().map(|(id, _)| *id).max().unwrap_or(0)
    }

    /// Computes a tag; `None` if the ring has no such key.
    pub fn tag<P: AsRef<[u8]>>(&self, key: u32, parts: &[P]) -> Option<[u8; 32]> {
        let (_, key) = self.0.iter().find(|(id, _)| *id == key)?;
        let mut context = hmac::Context::with_key(key);
        for part in parts {
            // Each part is length-prefixed, so that no two lists of parts are encoded the same.
            context.update(&(part.as_ref().len() as u64).to_be_bytes());
            context.update(part.as_ref());
        }
        context.sign().as_ref().try_into().ok()
    }

    /// Verifies a tag, or at least its first 16 bytes, in constant time.
    pub fn verify<P: AsRef<[u8]>>(&self, key: u32, parts: &[P], tag: &[u8]) -> bool {
        let Some(expected) = self.tag(key, parts) else { return false };
        (16..=expected.len()).contains(&tag.len())
            && aws_lc_rs::constant_time::verify_slices_are_equal(&expected[..tag.len()], tag)
                .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_for_its_purpose_and_parts_only() {
        let ring = KeyRing::generate().unwrap();
        let keys = ring.derive("cursors");
        let tag = keys.tag(1, &["ab", "c"]).unwrap();
        assert!(keys.verify(1, &["ab", "c"], &tag));
        assert!(keys.verify(1, &["ab", "c"], &tag[..16]));
        assert!(!keys.verify(1, &["ab", "c"], &tag[..15]), "too short to prove anything");
        assert!(!keys.verify(1, &["a", "bc"], &tag));
        assert!(!keys.verify(2, &["ab", "c"], &tag));
        assert!(!ring.derive("portal").verify(1, &["ab", "c"], &tag));
        assert!(!KeyRing::generate().unwrap().derive("cursors").verify(1, &["ab", "c"], &tag));
    }

    #[test]
    fn a_ring_that_grew_still_knows_what_was_made_before() {
        let ring = KeyRing::generate().unwrap();
        let tag = ring.derive("portal").tag(1, &["x"]).unwrap();
        let grown = ring.with_new_key().unwrap().derive("portal");
        assert_eq!(grown.newest(), 2);
        assert!(grown.verify(1, &["x"], &tag));
    }
}

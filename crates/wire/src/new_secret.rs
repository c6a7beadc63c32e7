//! Generates secrets, with more than enough randomness and in the form that the public libraries read.

use std::fmt;

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use data_encoding::BASE64;
use zeroize::Zeroizing;

use crate::secret::{HMAC_PREFIX, PRIVATE_PREFIX, PUBLIC_PREFIX};

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot generate a secret: the system's random number generator failed")]
pub struct RandomError;

/// An Ed25519 key pair in the text forms of Standard Webhooks.
pub struct NewKeyPair {
    /// `whsk_…`. Store it encrypted.
    pub private_key: String,
    /// `whpk_…`, for receivers.
    pub public_key: String,
}

/// Generates an HMAC secret: `whsec_` and 32 random bytes in base64.
pub fn new_secret() -> Result<String, RandomError> {
    Ok(format!("{HMAC_PREFIX}{}", BASE64.encode(&*random()?)))
}

pub fn new_key_pair() -> Result<NewKeyPair, RandomError> {
    let seed = random()?;
    let public = ed25519_dalek::SigningKey::from_bytes(&seed).verifying_key();
    Ok(NewKeyPair {
        private_key: format!("{PRIVATE_PREFIX}{}", BASE64.encode(&*seed)),
        public_key: format!("{PUBLIC_PREFIX}{}", BASE64.encode(public.as_bytes())),
    })
}

fn random() -> Result<Zeroizing<[u8; 32]>, RandomError> {
    let mut bytes = Zeroizing::new([0; 32]);
    SystemRandom::new().fill(&mut *bytes).map_err(|_| RandomError)?;
    Ok(bytes)
}

impl fmt::Debug for NewKeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NewKeyPair({}, private key redacted)", self.public_key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, SecretFormat, SigningKey};

    #[test]
    fn a_new_secret_is_one_that_standard_accepts() {
        let secret = new_secret().unwrap();
        assert_ne!(secret, new_secret().unwrap());
        let key = SigningKey::for_profile(&Profile::standard(), &secret).unwrap();
        assert_eq!(key.format(), SecretFormat::Base64);
        for profile in Profile::built_in() {
            assert!(SigningKey::for_profile(&profile, &secret).is_ok(), "{}", profile.name);
        }
    }

    #[test]
    fn a_new_pair_belongs_together() {
        let pair = new_key_pair().unwrap();
        let key = SigningKey::for_profile(&Profile::standard(), &pair.private_key).unwrap();
        assert_eq!(key.public_key().as_ref(), Some(&pair.public_key));
        assert!(!format!("{pair:?}").contains(&pair.private_key));
    }
}

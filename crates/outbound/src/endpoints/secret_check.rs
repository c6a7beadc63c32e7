//! Judges a secret, or makes one. Which secrets fit is the wire's to say: it must sign with them.

use gancho_vault::Secret;
use gancho_wire::{Profile, SigningKey, new_secret};

use super::{
    EndpointError,
    check::{Faults, Given},
};

pub(super) fn check(
    given: Option<&str>,
    profile: &Profile,
    faults: &mut Faults,
) -> Result<Given, EndpointError> {
    let secret = Secret::new(match given {
        Some(secret) => secret.to_owned(),
        None => new_secret().map_err(|fault| EndpointError::Vault(fault.to_string()))?,
    });
    match SigningKey::for_profile(profile, &secret) {
        Ok(key) => Ok(Some((secret, key.format()))),
        Err(fault) => {
            faults.add("secret_unfit", "/secret", fault);
            Ok(None)
        }
    }
}

/// Whether the secret that an endpoint has can sign in another profile.
pub(super) fn stays_fit(profile: &Profile, secret: &str, faults: &mut Faults) {
    if let Err(fault) = SigningKey::for_profile(profile, secret) {
        let message = format!(
            "the endpoint's secret does not fit the profile: {fault}. hint: give a new secret with it"
        );
        faults.add("secret_unfit", "/profile", message);
    }
}

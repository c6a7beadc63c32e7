//! Validates or generates a secret. `wire` decides which secrets are valid, because it signs with them.

use gancho_domain::field_error::FieldErrors;
use gancho_vault::Secret;
use gancho_wire::{Profile, SecretFormat, SigningKey, new_key_pair, new_secret};

use super::EndpointError;

/// A given or generated secret, and its format.
pub(super) struct NewSecret {
    pub secret: Secret,
    pub format: SecretFormat,
    /// The public key (`whpk_…`), if the secret has one.
    pub public_key: Option<String>,
}

/// Validates the given secret or generates one in the format of `before`. Returns `None` if the given secret
/// is invalid.
pub(super) fn check(
    given: Option<&str>,
    before: Option<SecretFormat>,
    profile: &Profile,
    errors: &mut FieldErrors,
) -> Result<Option<NewSecret>, EndpointError> {
    let secret = Secret::new(match given {
        Some(secret) => secret.to_owned(),
        None => make(before).map_err(|error| EndpointError::Vault(error.to_string()))?,
    });
    match SigningKey::for_new_secret(profile, &secret) {
        Ok(key) => {
            let (format, public_key) = (key.format(), key.public_key());
            Ok(Some(NewSecret { secret, format, public_key }))
        }
        Err(error) => {
            errors.add("secret_unfit", "/secret", error.with_hint());
            Ok(None)
        }
    }
}

/// Generates a secret. Receivers that verify with a public key continue to do so.
fn make(before: Option<SecretFormat>) -> Result<String, gancho_wire::RandomError> {
    match before {
        Some(SecretFormat::Ed25519) => new_key_pair().map(|pair| pair.private_key),
        _ => new_secret(),
    }
}

/// Checks whether the endpoint's secret can sign in another profile.
pub(super) fn stays_fit(profile: &Profile, secret: &str, errors: &mut FieldErrors) {
    if let Err(error) = SigningKey::for_new_secret(profile, secret) {
        let message = format!(
            "the endpoint's secret does not fit the profile: {error}. hint: set a new secret as well"
        );
        errors.add("secret_unfit", "/profile", message);
    }
}

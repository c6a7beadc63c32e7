//! Rotates a secret, with an overlap in which both sign, and reveals it.

use std::time::Duration;

use gancho_domain::{
    EndpointId, FieldError, OldSecret, TenantScope, Time, field_error::FieldErrors, span,
};
use gancho_vault::Secret;
use gancho_wire::{SecretFormat, SigningKey};

use super::{
    EndpointError, EndpointService, seal,
    secret_check::{self, NewSecret},
};

pub const DEFAULT_OVERLAP: Duration = Duration::from_hours(24);
pub const MAX_OVERLAP: Duration = Duration::from_hours(7 * 24);
/// Maximum number of old secrets that sign: each makes the signature header longer.
const MAX_OLD_SECRETS: usize = 4;

pub struct RotatedSecret {
    pub secret: Secret,
    pub secret_format: SecretFormat,
    /// The public key (`whpk_…`) for receivers, if the secret is an Ed25519 key.
    pub public_key: Option<String>,
    /// Until when the old secret signs as well; `None` without an overlap.
    pub old_until: Option<Time>,
}

pub struct RevealedSecret {
    pub secret: Secret,
    pub secret_format: SecretFormat,
    /// The public key (`whpk_…`) for receivers, if the secret is an Ed25519 key.
    pub public_key: Option<String>,
    /// Until when the rotated secrets still sign.
    pub old_until: Vec<Time>,
}

impl EndpointService {
    /// Rotates the secret: the new one signs immediately, the old one until the overlap ends. A generated
    /// secret has the format of the old one.
    pub async fn rotate(
        &self,
        scope: TenantScope,
        id: EndpointId,
        new: Option<String>,
        overlap: Option<Duration>,
    ) -> Result<RotatedSecret, EndpointError> {
        let overlap = overlap.unwrap_or(DEFAULT_OVERLAP);
        if overlap > MAX_OVERLAP {
            let message = format!("must not be longer than {}", span::write(MAX_OVERLAP));
            return Err(EndpointError::Faulty(vec![FieldError::new(
                "out_of_range",
                "/overlap",
                message,
            )]));
        }
        let changed = self.update(scope, id, |mut endpoint| {
            let profile = self.registry.profile(&endpoint.profile).ok_or_else(|| {
                EndpointError::Vault(format!("unknown profile `{}`", endpoint.profile))
            })?;
            let mut errors = FieldErrors::default();
            let before = seal::secret(&self.ring, &endpoint).map_err(EndpointError::Vault)?;
            let before = SigningKey::for_profile(&profile, &before).ok().map(|key| key.format());
            let Some(NewSecret { secret, format: secret_format, public_key }) =
                secret_check::check(new.as_deref(), before, &profile, &mut errors)?
            else {
                return Err(EndpointError::Faulty(errors.0));
            };
            let now = self.clock.now();
            let sealed =
                seal::seal_secret(&self.ring, &endpoint, &secret).map_err(EndpointError::Vault)?;
            let old = std::mem::replace(&mut endpoint.sealed_secret, sealed);
            endpoint.old_secrets.retain(|old| old.until > now);
            if !overlap.is_zero() {
                endpoint.old_secrets.insert(0, OldSecret { sealed: old, until: now + overlap });
                endpoint.old_secrets.truncate(MAX_OLD_SECRETS);
            }
            let old_until = (!overlap.is_zero()).then(|| now + overlap);
            Ok((endpoint, RotatedSecret { secret, secret_format, public_key, old_until }))
        });
        changed.await.map(|(_, rotated)| rotated)
    }

    pub async fn reveal(
        &self,
        scope: TenantScope,
        id: EndpointId,
    ) -> Result<RevealedSecret, EndpointError> {
        let endpoint = self.store.endpoint(scope, id).await?.ok_or(EndpointError::NotFound)?;
        let secret = seal::secret(&self.ring, &endpoint).map_err(EndpointError::Vault)?;
        let profile = self.registry.profile(&endpoint.profile);
        let key = profile.and_then(|profile| SigningKey::for_profile(&profile, &secret).ok());
        let now = self.clock.now();
        Ok(RevealedSecret {
            secret,
            secret_format: key.as_ref().map_or(SecretFormat::Raw, SigningKey::format),
            public_key: key.as_ref().and_then(SigningKey::public_key),
            old_until: endpoint
                .old_secrets
                .iter()
                .map(|old| old.until)
                .filter(|until| *until > now)
                .collect(),
        })
    }
}

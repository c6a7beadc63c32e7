//! A certificate of SNS, and the verification with its key.
//!
//! The issuer is not checked. The file that SNS serves has only this certificate, without the intermediate
//! one, so there is no chain to build. It is known to be Amazon's because it came over TLS, under roots that
//! the gateway trusts, from a host that is Amazon's. Fields that anyone could write, such as the name, would
//! prove nothing more.

use std::time::Duration;

use aws_lc_rs::signature::{
    ParsedPublicKey, RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA256,
};
use gancho_domain::Time;
use rustls::pki_types::{CertificateDer, UnixTime, pem::PemObject};
use webpki::{EndEntityCert, Error, ExtendedKeyUsageValidator, KeyPurposeIdIter};

use super::message::Hash;

pub struct Certificate {
    der: CertificateDer<'static>,
    /// SHA-1 with a key of at least 2048 bits. SNS signs with SHA-1 unless a topic says otherwise. Only
    /// someone who may publish to the topic could make two texts with the same hash, and they may publish
    /// either; Amazon writes the id, the time and the topic that follow them.
    sha1: ParsedPublicKey,
    sha256: ParsedPublicKey,
}

impl Certificate {
    pub fn read(pem: &[u8]) -> Result<Self, String> {
        let der = CertificateDer::from_pem_slice(pem)
            .map_err(|error| format!("not a certificate: {error}"))?;
        let parsed = EndEntityCert::try_from(&der)
            .map_err(|error| format!("invalid certificate: {error}"))?;
        let key = parsed.subject_public_key_info();
        let weak = |_| "the certificate's key is not an RSA key of at least 2048 bits".to_owned();
        let sha1 = ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, &key);
        let sha256 = ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &key);
        Ok(Self { sha1: sha1.map_err(weak)?, sha256: sha256.map_err(weak)?, der })
    }

    pub fn check_dates(&self, now: Time) -> Result<(), &'static str> {
        let unreadable = "invalid certificate";
        let parsed = EndEntityCert::try_from(&self.der).map_err(|_| unreadable)?;
        let secs = u64::try_from(now.secs()).unwrap_or_default();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(secs));
        // The dates are checked before the issuer, which is not available.
        match parsed.verify_for_usage(&[], &[], &[], now, AnyUse, None, None) {
            Ok(_) | Err(Error::UnknownIssuer) => Ok(()),
            Err(Error::CertExpired { .. }) => Err("the certificate has expired"),
            Err(Error::CertNotValidYet { .. }) => Err("the certificate is not valid yet"),
            Err(_) => Err("the certificate is not meant for signing"),
        }
    }

    pub fn verify(&self, hash: Hash, signed: &[u8], signature: &[u8]) -> bool {
        let key = match hash {
            Hash::Sha1 => &self.sha1,
            Hash::Sha256 => &self.sha256,
        };
        key.verify_sig(signed, signature).is_ok()
    }
}

/// The key usages in Amazon's certificate are not checked.
struct AnyUse;

impl ExtendedKeyUsageValidator for AnyUse {
    fn validate(&self, _: KeyPurposeIdIter<'_, '_>) -> Result<(), Error> {
        Ok(())
    }
}

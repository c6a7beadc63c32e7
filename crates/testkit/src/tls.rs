//! Certificates, valid and invalid.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};

/// Signs certificates that only clients with its root trust.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

static AUTHORITIES: AtomicUsize = AtomicUsize::new(0);

/// The validity of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    Now,
    Over,
    Ahead,
}

impl Authority {
    pub fn new() -> Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        // Two authorities with one name would look like one with a wrong key.
        let number = AUTHORITIES.fetch_add(1, Ordering::Relaxed);
        params.distinguished_name.push(DnType::CommonName, format!("authority {number}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Ok(Self(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?))
    }

    pub fn root(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    /// Returns the root in PEM.
    pub fn root_pem(&self) -> String {
        self.0.pem()
    }

    /// Returns a certificate for the names and its key, in PEM.
    pub fn pem(&self, names: &[&str]) -> Result<(String, String)> {
        let key = KeyPair::generate()?;
        let certificate = params(names, Validity::Now)?.signed_by(&key, &self.0)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }

    /// Returns a server with a certificate for the names (or addresses) that offers the protocols.
    pub fn server(
        &self,
        names: &[&str],
        life: Validity,
        alpn: &[&str],
    ) -> Result<Arc<ServerConfig>> {
        let key = KeyPair::generate()?;
        let certificate = params(names, life)?.signed_by(&key, &self.0)?;
        server(certificate.der().clone(), &key, alpn)
    }
}

/// Returns a server with a self-signed certificate.
pub fn self_signed(names: &[&str]) -> Result<Arc<ServerConfig>> {
    let key = KeyPair::generate()?;
    let certificate = params(names, Validity::Now)?.self_signed(&key)?;
    server(certificate.der().clone(), &key, &[])
}

pub(crate) fn params(names: &[&str], life: Validity) -> Result<CertificateParams> {
    let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names)?;
    (params.not_before, params.not_after) = match life {
        Validity::Now => (date_time_ymd(2000, 1, 1), date_time_ymd(2100, 1, 1)),
        Validity::Over => (date_time_ymd(2000, 1, 1), date_time_ymd(2001, 1, 1)),
        Validity::Ahead => (date_time_ymd(2099, 1, 1), date_time_ymd(2100, 1, 1)),
    };
    Ok(params)
}

fn server(
    certificate: CertificateDer<'static>,
    key: &KeyPair,
    alpn: &[&str],
) -> Result<Arc<ServerConfig>> {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Ok(Arc::new(config))
}

//! TLS by the URL's `sslmode`: `disable`, `prefer` (the default), `require` or `verify-full`.
//!
//! `require` and `verify-full` are the same: they check the server's certificate and its name, against the
//! file in `sslrootcert` or the machine's own roots. `prefer` accepts any certificate: it would connect
//! without TLS too, so a check would only exclude servers with a self-signed certificate, and protect from
//! nobody.

use std::{path::Path, sync::Arc};

use gancho_store::{Result, StoreError};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{self, CryptoProvider},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

pub(crate) fn connector(mode: SslMode, root_file: Option<&Path>) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::Refused(format!("could not set up TLS: {error}")))?;
    let config = if mode == SslMode::Require {
        builder.with_root_certificates(roots(root_file)?)
    } else {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

fn roots(file: Option<&Path>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = file {
        let refused = |why: String| {
            let text =
                format!("sslrootcert {}: {why}: name a PEM file of certificates", file.display());
            StoreError::Refused(text)
        };
        let certificates =
            CertificateDer::pem_file_iter(file).map_err(|why| refused(why.to_string()))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|why| refused(why.to_string()))?;
            roots.add(certificate).map_err(|why| refused(why.to_string()))?;
        }
        if roots.is_empty() {
            return Err(refused("it holds no certificate".to_owned()));
        }
        return Ok(roots);
    }
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(StoreError::Refused(
            "sslmode=require, but this machine has no root certificates: install them (package \
             ca-certificates), or name a file of them in SSL_CERT_FILE"
                .to_owned(),
        ));
    }
    Ok(roots)
}

#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls12_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls13_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

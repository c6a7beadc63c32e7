//! TLS 1.2 and later, with the system's root certificates. No setting disables verification.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::transport::TransportError;

pub(super) fn connector(extra: &[CertificateDer<'static>]) -> Result<TlsConnector, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    for root in extra {
        roots.add(root.clone())?;
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The certificate must match the configured host name.
pub(super) async fn secure(
    connector: &TlsConnector,
    host: &str,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, TransportError> {
    let failed = |why: &dyn std::fmt::Display| TransportError::NoResponse {
        text: format!("could not establish TLS with the mail server: {why}"),
    };
    let name = ServerName::try_from(host.to_owned()).map_err(|fault| failed(&fault))?;
    connector.connect(name, stream).await.map_err(|fault| failed(&fault))
}

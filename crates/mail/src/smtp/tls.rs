//! TLS 1.2 and later, with the system's root certificates. No setting disables verification.

use std::sync::Arc;

use gancho_egress::tls;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::transport::TransportError;

pub(super) fn connector(extra: &[CertificateDer<'static>]) -> Result<TlsConnector, rustls::Error> {
    Ok(TlsConnector::from(Arc::new(tls::client_config(extra)?)))
}

/// Starts TLS. The certificate must match the configured host name.
pub(super) async fn secure(
    connector: &TlsConnector,
    host: &str,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, TransportError> {
    let failed = |why: &dyn std::fmt::Display| TransportError::NoResponse {
        text: format!("could not establish TLS with the mail server: {why}"),
    };
    let name = ServerName::try_from(host.to_owned()).map_err(|error| failed(&error))?;
    connector.connect(name, stream).await.map_err(|error| failed(&error))
}

//! TLS 1.2 and later, with the system's root certificates.

use std::{sync::Arc, time::Duration};

use gancho_domain::Code;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName},
};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{outcome::RequestError, settings::SetupError, url_policy::TargetHost};

/// Trusts the machine's roots and the extra ones. A container without its own roots uses the bundled ones.
pub fn client_config(extra: &[CertificateDer<'static>]) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    for root in extra {
        roots.add(root.clone())?;
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// Creates a connector that offers HTTP/2 before HTTP/1.1.
pub(crate) fn connector(extra: &[CertificateDer<'static>]) -> Result<TlsConnector, SetupError> {
    let mut config = client_config(extra)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Starts TLS. The certificate must have the name in the URL, never a name that the peer sent.
pub(crate) async fn shake_hands(
    connector: &TlsConnector,
    host: TargetHost<'_>,
    stream: TcpStream,
    within: Duration,
) -> Result<TlsStream<TcpStream>, RequestError> {
    let failed = |why: &dyn std::fmt::Display| {
        RequestError::new(Code::TLS_FAILED, format!("the TLS handshake failed: {why}"))
    };
    let name = match host {
        TargetHost::Name(name) => {
            ServerName::try_from(name.to_owned()).map_err(|error| failed(&error))?
        }
        TargetHost::Address(judged) => ServerName::IpAddress(judged.address().ip().into()),
    };
    match timeout(within, connector.connect(name, stream)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(failed(&error)),
        Err(_) => Err(failed(&"timed out")),
    }
}

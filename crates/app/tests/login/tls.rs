//! A server behind TLS with a certificate of a private authority.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ServerConfig, ServerConnection, StreamOwned, pki_types::PrivateKeyDer};

use crate::operator::Operator;

#[test]
fn a_private_authority_is_trusted_by_its_file() {
    let at = Operator::start();
    let key = at.served.tenant("acme");
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let own = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = certificate.signed_by(&own, &authority).unwrap();
    let ca_file = at.folder.path().join("ca.pem");
    fs::write(&ca_file, authority.pem()).unwrap();

    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let private = PrivateKeyDer::try_from(own.serialize_der()).unwrap();
    let config =
        config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], private);
    let config = Arc::new(config.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let gateway = at.served.address;
    // A proxy for one request per connection.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut inner = TcpStream::connect(gateway).unwrap();
            let connection = ServerConnection::new(config.clone()).unwrap();
            let mut outer = StreamOwned::new(connection, stream);
            let mut request = [0; 8192];
            let Ok(length @ 1..) = outer.read(&mut request) else { continue };
            let text = String::from_utf8_lossy(&request[..length]).replacen(
                "\r\n",
                "\r\nconnection: close\r\n",
                1,
            );
            inner.write_all(text.as_bytes()).unwrap();
            let mut answer = Vec::new();
            inner.read_to_end(&mut answer).unwrap();
            let _ = outer.write_all(&answer);
            outer.conn.send_close_notify();
            let _ = outer.flush();
        }
    });
    let url = format!("https://localhost:{port}");
    let variables = [("GANCHO_API_KEY", key.as_str())];
    let arguments = ["endpoints", "list", "--server", &url];
    let refused = at.run_with(&arguments, &variables, "");
    assert_eq!(refused.code, 6, "{}", refused.err);
    assert!(refused.err.contains("not signed by a trusted authority"), "{}", refused.err);
    assert!(
        refused.err.contains("hint: name its certificate authority with --ca-file"),
        "{}",
        refused.err
    );
    let with_ca = [&arguments[..], &["--ca-file", ca_file.to_str().unwrap()]].concat();
    at.run_with(&with_ca, &variables, "").ok();
}

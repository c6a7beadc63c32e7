//! The mail server of `tests/servers/smtp.py`, which all tests share. Each test asks for the messages to its
//! own address.

use std::{
    path::PathBuf,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use data_encoding::BASE64;
use gancho_mail::{
    SmtpTransport,
    smtp::{SmtpServer, SmtpSettings},
};
use gancho_testkit::{python::PythonServer, wait_for};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::CertificateDer;
use serde_json::Value;

pub struct MailServer {
    server: PythonServer,
    ports: Value,
    root: CertificateDer<'static>,
}

/// A mail as the server got it.
#[derive(Debug, Clone)]
pub struct Mail {
    pub session: u64,
    pub is_secure: bool,
    pub login: Option<String>,
    pub sender: String,
    pub recipients: Vec<String>,
    pub content: String,
}

pub fn mail_server() -> &'static MailServer {
    static SERVER: OnceLock<MailServer> = OnceLock::new();
    SERVER.get_or_init(MailServer::start)
}

/// Returns an address that no other test uses, with a script for the server.
pub fn address(script: &str) -> String {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    format!("{script}.{}@example.com", NUMBER.fetch_add(1, Ordering::Relaxed))
}

impl MailServer {
    fn start() -> Self {
        let (root, certificate, key) = certificate();
        let server =
            PythonServer::start("crates/mail/tests/servers/smtp.py", &[&certificate, &key]);
        let server = server.unwrap();
        let ports = serde_json::from_str(&server.first().unwrap()).unwrap();
        Self { server, ports, root }
    }

    pub fn port(&self, kind: &str) -> u16 {
        u16::try_from(self.ports[kind].as_u64().unwrap()).unwrap()
    }

    /// Returns settings for one of its ports. `scheme` may contain a user, `query` is the rest of the URL.
    pub fn settings(&self, scheme: &str, kind: &str, query: &str) -> SmtpSettings {
        let url = format!("{scheme}127.0.0.1:{}{query}", self.port(kind));
        let server: SmtpServer = url.parse().unwrap();
        SmtpSettings {
            extra_roots: vec![self.root.clone()],
            deadline: Duration::from_secs(5),
            ..SmtpSettings::new(server)
        }
    }

    pub fn plain(&self) -> SmtpTransport {
        SmtpTransport::new(self.settings("smtp://", "plain", "?tls=none")).unwrap()
    }

    pub fn told(&self, kind: &str) -> Vec<Value> {
        let lines = self.server.lines();
        let values = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        values.filter(|value| value["kind"] == kind).collect()
    }

    /// Returns the messages to an address.
    pub fn mails(&self, address: &str) -> Vec<Mail> {
        let of_address = |value: &Value| value["recipients"][0] == address;
        self.told("mail").iter().filter(|value| of_address(value)).map(Mail::of).collect()
    }

    /// Returns the first message to an address. It appears a moment after it was accepted.
    pub async fn first_mail(&self, address: &str) -> Mail {
        self.first_mails(address, 1).await.remove(0)
    }

    /// Returns all messages to an address, once there are `count`.
    pub async fn first_mails(&self, address: &str, count: usize) -> Vec<Mail> {
        let enough = || async { Some(self.mails(address)).filter(|mails| mails.len() >= count) };
        wait_for("a mail", enough).await
    }

    /// Returns everything that was sent to the server in a session, once that has ended.
    pub async fn heard(&self, session: u64) -> String {
        wait_for("the end of a session", || async {
            let closed = self.told("closed");
            let of_session = closed.iter().find(|value| value["session"] == session)?;
            Some(decoded(&of_session["heard"]))
        })
        .await
    }
}

impl Mail {
    fn of(value: &Value) -> Self {
        let text = |name: &str| value[name].as_str().unwrap().to_owned();
        let recipients = value["recipients"].as_array().unwrap();
        Self {
            session: value["session"].as_u64().unwrap(),
            is_secure: value["secure"].as_bool().unwrap(),
            login: value["login"].as_str().map(str::to_owned),
            sender: text("sender"),
            recipients: recipients.iter().map(|one| one.as_str().unwrap().to_owned()).collect(),
            content: decoded(&value["content"]),
        }
    }

    /// Returns the value of a header, wherever its lines are folded.
    pub fn header(&self, name: &str) -> Option<String> {
        let head = self.content.split("\r\n\r\n").next().unwrap().replace("\r\n ", " ");
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned())
    }
}

pub fn decoded(value: &Value) -> String {
    String::from_utf8(BASE64.decode(value.as_str().unwrap().as_bytes()).unwrap()).unwrap()
}

/// Creates a root certificate, and the files of a certificate for this machine that it signed.
fn certificate() -> (CertificateDer<'static>, PathBuf, PathBuf) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, &authority).unwrap();
    // The server reads them at its start, long before the directory is removed.
    let folder = tempfile::tempdir().unwrap().keep();
    let paths = ["certificate.pem", "key.pem"].map(|name| folder.join(name));
    std::fs::write(&paths[0], certificate.pem()).unwrap();
    std::fs::write(&paths[1], key.serialize_pem()).unwrap();
    let [certificate, key] = paths;
    (authority.der().clone(), certificate, key)
}

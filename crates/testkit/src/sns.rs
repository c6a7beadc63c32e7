//! Messages as Amazon SNS signs them, signed with the test's own key. `openssl` makes the signatures, so that
//! the code that verifies them does not also make them.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use data_encoding::BASE64;
use rcgen::{KeyPair, PKCS_RSA_SHA256};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::{receiver::Step, tls};

/// A key and its certificate.
pub struct Signer {
    key: NamedTempFile,
    certificate: String,
}

impl Signer {
    pub fn new(life: tls::Validity) -> Result<Self> {
        let key = KeyPair::generate_for(&PKCS_RSA_SHA256)?;
        let certificate = tls::params(&["sns.amazonaws.com"], life)?.self_signed(&key)?.pem();
        let mut file = NamedTempFile::new()?;
        file.write_all(key.serialize_pem().as_bytes())?;
        Ok(Self { key: file, certificate })
    }

    /// Creates a signer whose key is too short by today's standards.
    pub fn weak() -> Result<Self> {
        let key = NamedTempFile::new()?;
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-newkey", "rsa:1024", "-nodes", "-subj", "/CN=sns"]);
        openssl.arg("-keyout").arg(key.path());
        let made = openssl.stderr(Stdio::null()).output().context("running openssl")?;
        ensure!(made.status.success(), "openssl made no certificate");
        Ok(Self { key, certificate: String::from_utf8(made.stdout)? })
    }

    /// Returns the certificate as in the file that SNS serves.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Writes `SignatureVersion` and `Signature` into a message.
    pub fn sign(&self, message: &mut Value, version: &str) -> Result<()> {
        message["SignatureVersion"] = json!(version);
        let names = [
            "Message",
            "MessageId",
            "Subject",
            "SubscribeURL",
            "Timestamp",
            "Token",
            "TopicArn",
            "Type",
        ];
        let lines = names
            .iter()
            .filter_map(|name| message[name].as_str().map(|value| format!("{name}\n{value}\n")));
        let base: String = lines.collect();
        let hash = if version == "1" { "-sha1" } else { "-sha256" };
        message["Signature"] = json!(BASE64.encode(&self.openssl(hash, base.as_bytes())?));
        Ok(())
    }

    fn openssl(&self, hash: &str, text: &[u8]) -> Result<Vec<u8>> {
        let mut child = Command::new("openssl")
            .args(["dgst", hash, "-sign"])
            .arg(self.key.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("running openssl")?;
        child.stdin.take().context("it has an input")?.write_all(text)?;
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "openssl did not sign");
        Ok(output.stdout)
    }
}

/// A certificate whose key is not RSA.
pub fn elliptic_certificate() -> Result<String> {
    let key = KeyPair::generate()?;
    Ok(tls::params(&["sns.amazonaws.com"], tls::Validity::Now)?.self_signed(&key)?.pem())
}

/// Returns an unsigned notification; `time` as SNS writes it.
pub fn notification(topic: &str, time: &str, id: &str, text: &str) -> Value {
    json!({
        "Type": "Notification",
        "MessageId": id,
        "TopicArn": topic,
        "Message": text,
        "Timestamp": time,
        "UnsubscribeURL": "https://sns.eu-west-1.amazonaws.com/?Action=Unsubscribe",
    })
}

/// Returns an unsigned message; `kind` is `SubscriptionConfirmation` or `UnsubscribeConfirmation`.
pub fn confirmation(kind: &str, topic: &str, time: &str, url: &str) -> Value {
    json!({
        "Type": kind,
        "MessageId": "165545c9-2a5c-472c-8df2-7ff2be2b3b1b",
        "Token": "2336412f37f",
        "TopicArn": topic,
        "Message": "You have chosen to subscribe.\nTo confirm, visit the SubscribeURL.",
        "SubscribeURL": url,
        "Timestamp": time,
    })
}

/// Answers one request with a document, and closes.
pub fn document(status: &str, text: &str) -> Vec<Step> {
    let head = format!("content-length: {}\r\nconnection: close", text.len());
    vec![Step::ReadRequest, Step::send(&format!("HTTP/1.1 {status}\r\n{head}\r\n\r\n{text}"))]
}

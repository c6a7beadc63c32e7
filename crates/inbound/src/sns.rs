//! Amazon SNS: messages that Amazon signs with its own key, whose certificate is at a URL in the message.
//!
//! In reading order: [`message`] parses a message and builds its signed text; [`hosts`] checks that URLs are
//! Amazon's; [`certificates`] fetches, caches and rate-limits; a [`certificate`] verifies; [`confirm`]
//! confirms a subscription.
//!
//! Anyone with an Amazon account can have messages signed, and the signature only says which topic they came
//! through, so a source accepts only the topics that it lists. The topic is checked before anything is
//! fetched: a sender that does not know a topic cannot make the gateway fetch anything.

pub mod certificate;
pub mod certificates;
mod confirm;
pub mod hosts;
pub mod message;

use std::time::Duration;

use data_encoding::{BASE64, HEXLOWER};
use gancho_domain::{Gcra, Time};
use gancho_egress::Client;
use parking_lot::Mutex;

pub use self::hosts::SnsHosts;
use self::{
    certificates::{CertificateError, Certificates},
    message::{Message, MessageType},
};
use crate::outcome::{Reason, ReceiveError};

/// Maximum age of a message. SNS retries for at most an hour and then drops it. Twice that allows for clock
/// differences; anything older can only be a replay.
const OLDEST: Duration = Duration::from_hours(2);

pub struct Sns {
    client: Client,
    hosts: SnsHosts,
    certificates: Certificates,
    confirmations: Mutex<Gcra>,
    oldest: Duration,
}

/// The topics of a source.
pub struct Topics {
    pub arns: Vec<String>,
    /// The rate of certificate fetches that its messages cause, so that a flood of one source does not affect
    /// another.
    fetched: Mutex<Gcra>,
}

/// A message with Amazon's signature and a topic of the source. Only [`Sns::prove`] constructs one.
#[derive(Debug)]
pub struct VerifiedSnsMessage {
    pub kind: MessageType,
    pub message_id: String,
    pub topic: String,
    subscribe_url: Option<String>,
    base_sha256: String,
}

impl Topics {
    pub fn new(arns: Vec<String>) -> Self {
        Self { arns, fetched: Mutex::default() }
    }
}

impl VerifiedSnsMessage {
    /// Returns the SHA-256 of the signed text.
    pub fn base_sha256(&self) -> &str {
        &self.base_sha256
    }
}

impl Sns {
    /// `remembered` is how long messages are deduplicated: older messages are refused, because they could be
    /// replayed.
    pub fn new(client: Client, hosts: SnsHosts, remembered: Duration) -> Self {
        Self {
            certificates: Certificates::new(client.clone()),
            client,
            hosts,
            confirmations: Mutex::default(),
            oldest: OLDEST.min(remembered),
        }
    }

    /// Verifies a message. `ahead` is how far its timestamp may be in the future.
    pub async fn prove(
        &self,
        topics: &Topics,
        body: &[u8],
        now: Time,
        ahead: Duration,
    ) -> Result<VerifiedSnsMessage, ReceiveError> {
        let message = Message::read(body).map_err(|why| refused(Reason::NotSns, why))?;
        if !topics.arns.contains(&message.topic_arn) {
            let why = format!("the source does not list the topic {}", message.topic_arn);
            return Err(refused(Reason::Topic, why));
        }
        let is_fresh =
            now.since(message.sent_at) <= self.oldest && message.sent_at.since(now) <= ahead;
        if !is_fresh {
            return Err(refused(Reason::StaleTimestamp, format!("sent at {}", message.sent_at)));
        }
        let signature = BASE64.decode(message.signature.as_bytes());
        let signature =
            signature.map_err(|_| refused(Reason::MalformedSignature, "not valid base64"))?;
        let url = self.hosts.certificate(&message.signing_cert_url);
        let url = url.map_err(|why| {
            refused(Reason::Certificate, format!("{why}: {}", sanitized(&message.signing_cert_url)))
        })?;
        let certificate =
            self.certificates.get(&url, &topics.fetched, now).await.map_err(|no| match no {
                CertificateError::Refused(why) => refused(Reason::Certificate, why),
                CertificateError::Away(why) => {
                    verification_unavailable(Reason::CertificateAway, why)
                }
            })?;
        certificate.check_dates(now).map_err(|why| refused(Reason::Certificate, why))?;
        let base = message.base();
        if !certificate.verify(message.hash, base.as_bytes(), &signature) {
            return Err(refused(
                Reason::SignatureMismatch,
                "the signature does not match the message",
            ));
        }
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, base.as_bytes());
        Ok(VerifiedSnsMessage {
            base_sha256: HEXLOWER.encode(digest.as_ref()),
            kind: message.kind,
            message_id: message.message_id,
            topic: message.topic_arn,
            subscribe_url: message.subscribe_url,
        })
    }
}

/// Returns the one response to everything that is not verified, with details for the operator.
fn refused(reason: Reason, why: impl Into<String>) -> ReceiveError {
    ReceiveError::unproven(reason).noted(why)
}

/// Returns a 5xx response, because SNS retries only after one.
fn verification_unavailable(reason: Reason, why: impl Into<String>) -> ReceiveError {
    let detail = "the message could not be verified at the moment: send it again";
    let denied = ReceiveError::new(503, "unavailable", reason, detail).noted(why);
    ReceiveError { retry_after: Some(Duration::from_secs(5)), ..denied }
}

/// Returns the response if SNS is not configured. Only senders that know a topic of the source get it.
pub(crate) fn unconfigured(topics: &Topics, body: &[u8]) -> ReceiveError {
    if !Message::read(body).is_ok_and(|message| topics.arns.contains(&message.topic_arn)) {
        return refused(Reason::Topic, "the topic is not listed in the source");
    }
    verification_unavailable(Reason::CertificateAway, "SNS is not configured on this gateway")
}

/// Shortens text from an unverified sender.
fn sanitized(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(200).collect()
}

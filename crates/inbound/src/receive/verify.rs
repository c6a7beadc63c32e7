//! Verifies that a request is from the partner in its path. The key determines the algorithm; a header only
//! selects among the keys of that partner.

use std::time::Duration;

use gancho_domain::{Time, receipt_label};
use gancho_wire::{Preset, Recipe, Token, VerifiedRequest, VerifyError, VerifyingKey};
use serde::Deserialize;

use crate::{
    ReceivedRequest,
    outcome::{Reason, ReceiveError, Reply},
    registry::{PreparedKey, PreparedSource, ProofKeys},
    sns::{self, Sns, VerifiedSnsMessage},
};

/// A verified request. Only this file constructs one.
pub struct VerifiedMessage<'a> {
    pub source: &'a PreparedSource,
    pub key: &'a PreparedKey,
    /// `None` if it was authenticated by a token, which signs nothing.
    signed: Option<VerifiedSignature<'a>>,
}

enum VerifiedSignature<'a> {
    ByPartner(VerifiedRequest<'a>),
    BySns(VerifiedSnsMessage),
}

impl VerifiedMessage<'_> {
    /// Returns the message id, if the signature covers one.
    pub fn message_id(&self) -> Option<&str> {
        match self.signed.as_ref()? {
            VerifiedSignature::ByPartner(verified) => verified.message_id(),
            VerifiedSignature::BySns(message) => Some(&message.message_id),
        }
    }

    /// Returns the SHA-256 of the signed bytes; `None` if nothing was signed.
    pub fn base_sha256(&self) -> Option<String> {
        Some(match self.signed.as_ref()? {
            VerifiedSignature::ByPartner(verified) => verified.base_sha256(),
            VerifiedSignature::BySns(message) => message.base_sha256().to_owned(),
        })
    }

    /// Returns the event type that the sender claims, signed or in an unsigned header.
    pub fn topic<'b>(&'b self, request: &'b ReceivedRequest) -> Option<&'b str> {
        if let Some(VerifiedSignature::BySns(message)) = &self.signed {
            return receipt_label::topic(message.topic.as_bytes());
        }
        let name = self.source.preset.topic_header()?;
        receipt_label::topic(request.headers.get(name)?.as_bytes())
    }

    /// Whether it must be JSON, whatever its content type, because the signature is in the body.
    pub fn is_json_by_itself(&self) -> bool {
        matches!(self.signed, Some(VerifiedSignature::BySns(_)))
    }
}

/// Verifies the signatures of all presets.
pub struct RequestVerifier {
    /// Maximum difference of a timestamp from now.
    tolerance: Duration,
    /// The gateway's own scheme, which is also used for requests of unknown partners.
    decoy: Option<Recipe>,
    /// `None` if SNS is not configured.
    sns: Option<Sns>,
}

impl RequestVerifier {
    pub fn new(tolerance: Duration) -> Self {
        Self { tolerance, decoy: Preset::Partner.recipe().ok(), sns: None }
    }

    pub fn with_sns(self, sns: Sns) -> Self {
        Self { sns: Some(sns), ..self }
    }

    /// Verifies a request. Only SNS messages cause a request of the gateway, for the certificate.
    pub async fn verify<'a>(
        &self,
        source: &'a PreparedSource,
        request: &'a ReceivedRequest,
        now: Time,
    ) -> Result<VerifiedMessage<'a>, ReceiveError> {
        let (lines, tolerance) = (request.lines(), self.tolerance);
        let verified = match &source.proving {
            ProofKeys::Signature { recipe, keys } => {
                let claimed = recipe.key_id(&lines).map_err(ReceiveError::refused)?;
                let chosen = choose(source, claimed, now);
                let keys = KeySelection::of(keys, &chosen);
                let verified = recipe
                    .verify(keys.as_slice(), &lines, &request.body, now, tolerance)
                    .map_err(|refusal| explain(refusal, source, claimed, &chosen, now))?;
                let key = chosen.get(verified.key()).copied();
                key.map(|index| (index, Some(VerifiedSignature::ByPartner(verified))))
            }
            ProofKeys::HeaderToken { header, tokens } => {
                let chosen = choose(source, None, now);
                first(&chosen, tokens, |token| token.verify(&lines, header))
                    .map(|index| (index, None))
            }
            ProofKeys::ClientState { tokens } => {
                let states = client_states(&request.body);
                let chosen = choose(source, None, now);
                first(&chosen, tokens, |token| all_are(token, &states)).map(|index| (index, None))
            }
            ProofKeys::Sns(topics) => {
                let sns =
                    self.sns.as_ref().ok_or_else(|| sns::unconfigured(topics, &request.body))?;
                // Boxed, so that the futures of all other requests stay small.
                let proving = Box::pin(sns.prove(topics, &request.body, now, tolerance));
                let message = proving.await?;
                Some((0, Some(VerifiedSignature::BySns(message))))
            }
        };
        let (index, signed) =
            verified.ok_or_else(|| ReceiveError::unproven(Reason::SignatureMismatch))?;
        let key =
            source.keys.get(index).ok_or_else(|| ReceiveError::unproven(Reason::UnknownKey))?;
        // Checked last, so that others cannot tell a paused source from an unknown one.
        if !source.source.is_active {
            return Err(ReceiveError::paused());
        }
        Ok(VerifiedMessage { source, key, signed })
    }

    /// Does the same work for an unknown partner, so that the response takes as long and reveals nothing.
    pub fn refuse_unknown(&self, request: &ReceivedRequest, now: Time) -> ReceiveError {
        let Some(decoy) = &self.decoy else {
            return ReceiveError::unproven(Reason::UnknownPartner);
        };
        let lines = request.lines();
        let refusal = match decoy.key_id(&lines) {
            Err(refusal) => refusal,
            Ok(_) => match decoy.verify(&[], &lines, &request.body, now, self.tolerance) {
                Err(refusal) => refusal,
                Ok(_) => VerifyError::NoMatch,
            },
        };
        match ReceiveError::refused(refusal) {
            denied if refusal.is_malformed() => denied,
            denied => ReceiveError { reason: Reason::UnknownPartner, ..denied },
        }
    }

    /// Answers a message about a subscription. `None` for other messages.
    pub(crate) async fn answer_subscription(
        &self,
        message: &VerifiedMessage<'_>,
        now: Time,
    ) -> Option<Result<Reply, ReceiveError>> {
        match (&message.signed, &self.sns) {
            (Some(VerifiedSignature::BySns(of_sns)), Some(sns)) => {
                Box::pin(sns.answer(of_sns, &message.source.source.partner, now)).await
            }
            _ => None,
        }
    }
}

/// Returns the indexes of the keys to try: valid now and, if the sender names one, with that id.
fn choose(source: &PreparedSource, claimed: Option<&str>, now: Time) -> Vec<usize> {
    let fits = |ready: &PreparedKey| {
        claimed.is_none_or(|id| ready.key.key_id == id) && ready.key.is_valid_at(now)
    };
    source.keys.iter().enumerate().filter(|(_, key)| fits(key)).map(|(index, _)| index).collect()
}

/// The selected keys. Does not copy if it is one key or all of them.
enum KeySelection<'a> {
    Some(&'a [VerifyingKey]),
    Copied(Vec<VerifyingKey>),
}

impl<'a> KeySelection<'a> {
    fn of(keys: &'a [VerifyingKey], chosen: &[usize]) -> Self {
        match *chosen {
            [] => Self::Some(&[]),
            [one] => Self::Some(keys.get(one..=one).unwrap_or_default()),
            _ if chosen.len() == keys.len() => Self::Some(keys),
            _ => Self::Copied(chosen.iter().filter_map(|&at| keys.get(at).cloned()).collect()),
        }
    }

    fn as_slice(&self) -> &[VerifyingKey] {
        match self {
            Self::Some(keys) => keys,
            Self::Copied(keys) => keys,
        }
    }
}

/// Records that there was no key to try, and why, instead of a mismatch.
fn explain(
    refusal: VerifyError,
    source: &PreparedSource,
    claimed: Option<&str>,
    chosen: &[usize],
    now: Time,
) -> ReceiveError {
    let denied = ReceiveError::refused(refusal);
    if refusal != VerifyError::NoMatch || !chosen.is_empty() {
        return denied;
    }
    let Some(id) = claimed else { return ReceiveError { reason: Reason::NoKey, ..denied } };
    match source.keys.iter().find(|ready| ready.key.key_id == id) {
        None => ReceiveError { reason: Reason::UnknownKey, ..denied },
        Some(PreparedKey { key, .. }) => match (key.not_before(), key.not_after()) {
            (Some(begin), _) if now < begin => {
                let note = format!("the key `{id}` is not valid before {begin}");
                ReceiveError { reason: Reason::KeyNotYetValid, ..denied }.noted(note)
            }
            (_, Some(end)) => {
                let note = format!("the key `{id}` was valid until {end}");
                ReceiveError { reason: Reason::KeyExpired, ..denied }.noted(note)
            }
            _ => ReceiveError { reason: Reason::UnknownKey, ..denied },
        },
    }
}

/// Returns the first token that matches. Compares all of them, so that the time does not depend on which one
/// matches.
fn first(
    chosen: &[usize],
    tokens: &[Token],
    proves: impl Fn(&Token) -> Result<(), VerifyError>,
) -> Option<usize> {
    chosen.iter().rev().fold(None, |found, &index| {
        let is_proved = tokens.get(index).is_some_and(|token| proves(token).is_ok());
        if is_proved { Some(index) } else { found }
    })
}

#[derive(Deserialize)]
struct Notifications {
    value: Vec<Notification>,
}

#[derive(Deserialize)]
struct Notification {
    #[serde(rename = "clientState")]
    client_state: String,
}

fn client_states(body: &[u8]) -> Vec<String> {
    let read: Result<Notifications, _> = serde_json::from_slice(body);
    let states = read.map(|all| all.value.into_iter().map(|one| one.client_state).collect());
    states.unwrap_or_default()
}

/// Checks that all states match the token, and that there is at least one.
fn all_are(token: &Token, states: &[String]) -> Result<(), VerifyError> {
    const NAME: &str = "client-state";
    if states.is_empty() {
        return Err(VerifyError::NoMatch);
    }
    states.iter().try_for_each(|state| token.verify(&[(NAME, state.as_bytes())], NAME))
}

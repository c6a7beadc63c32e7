//! The flow: find the source → answer an unsigned handshake → verify the signature → pass (rate limit and policy) →
//! answer a signed handshake → identify (strict JSON, event id for deduplication) → check the schema → accept, in one
//! transaction → respond, signed.
//!
//! Each step has a file: [`preconditions`] (size and media type), [`handshake`], [`verify`] (signatures), [`policy`],
//! [`identity`] (deduplication), [`accept`] (one transaction), [`policy_sign`] (the signature of the response).
//! An unverified request causes no read of the store. The signature schemes and handshakes of senders
//! are in `verify` and `handshake`.

pub mod accept;
pub mod handshake;
pub mod identity;
pub mod policy;
pub mod policy_sign;
pub mod preconditions;
pub mod verify;

use std::sync::Arc;

use gancho_domain::{FieldError, ReceiptLabel, Time};
use gancho_wire::strict_json;
use tracing::instrument;

use self::{
    accept::{AcceptedReceipt, Parts},
    policy::{Bits, Decision},
    policy_sign::policy_sign,
    verify::VerifiedMessage,
};
use crate::{
    Inbound, Partner, ReceivedRequest, RequestRecord, Verb,
    dispatch::misfit,
    outcome::{Acceptance, Outcome, Reason, ReceiveError, Reply},
    registry::{Lookup, PreparedSource},
};

/// Why a request ends early.
enum Interrupt {
    Reply(Reply),
    Rejected(ReceiveError),
}

impl From<ReceiveError> for Interrupt {
    fn from(denied: ReceiveError) -> Self {
        Self::Rejected(denied)
    }
}

impl Inbound {
    #[instrument(level = "debug", skip_all, fields(partner = request.partner))]
    pub async fn receive(&self, request: &ReceivedRequest) -> Outcome {
        let now = self.clock.now();
        let source = match self.find(request, now).await {
            Ok(source) => source,
            Err(stop) => return self.stop(stop, None, request, now),
        };
        match self.verify_and_accept(&source, request, now).await {
            Ok(kept) => Outcome::Accepted(kept),
            Err(stop) => self.stop(stop, Some(&source), request, now),
        }
    }

    async fn verify_and_accept(
        &self,
        source: &Arc<PreparedSource>,
        request: &ReceivedRequest,
        now: Time,
    ) -> Result<Acceptance, Interrupt> {
        self.greet(source, request, now)?;
        let parts = {
            let message = self.verify(source, request, now).await?;
            self.pass(&message, now)?;
            self.greet_proved(&message, request, now).await?;
            identify(&message, source, request)?
        };
        let misfits = check_schema(source, request).await?;
        Ok(self.accept(parts, misfits, now).await?)
    }

    /// The source that the request claims to be from.
    #[instrument(level = "debug", skip_all)]
    async fn find(
        &self,
        request: &ReceivedRequest,
        now: Time,
    ) -> Result<Arc<PreparedSource>, Interrupt> {
        preconditions::check_size(request, &self.limits)?;
        if let Some(reply) = handshake::for_anyone(request) {
            return Err(Interrupt::Reply(reply));
        }
        let found = self.sources.find(&request.partner).await;
        match found.map_err(|error| ReceiveError::store(&error))? {
            Lookup::Source(source) => Ok(source),
            Lookup::Nobody => Err(self.unknown(request, now).into()),
            Lookup::Unusable(_) => Err(ReceiveError::unusable().into()),
        }
    }

    /// An unsigned handshake. A GET request can be nothing else.
    fn greet(
        &self,
        source: &PreparedSource,
        request: &ReceivedRequest,
        now: Time,
    ) -> Result<(), Interrupt> {
        match handshake::unsigned(source, request) {
            Some(Ok(reply)) => Err(Interrupt::Reply(reply)),
            Some(Err(denied)) => Err(self.as_unknown(denied, source, request, now).into()),
            None if request.verb == Verb::Get => {
                Err(ReceiveError::unproven(Reason::Greeting).into())
            }
            None => Ok(()),
        }
    }

    #[instrument(level = "debug", skip_all)]
    async fn verify<'a>(
        &self,
        source: &'a PreparedSource,
        request: &'a ReceivedRequest,
        now: Time,
    ) -> Result<VerifiedMessage<'a>, ReceiveError> {
        let media = preconditions::check_type(&request.headers)?;
        let verified = self.verifier.verify(source, request, now).await;
        let message = verified.map_err(|denied| self.as_unknown(denied, source, request, now))?;
        if !message.is_json_by_itself() {
            preconditions::only_json(media)?;
        }
        Ok(message)
    }

    /// Applies the policy pack. Only verified requests count against the rate, so that nobody else can use
    /// up a partner's.
    fn pass(&self, message: &VerifiedMessage<'_>, now: Time) -> Result<(), ReceiveError> {
        let taken = match message.source.rate {
            Some(rate) => message.key.take(rate, now),
            None => Ok(()),
        };
        let bits = Bits { verified: true, rate_ok: taken.is_ok() };
        match (self.policy.pack().decide(bits), taken) {
            (Decision::Allow, _) => Ok(()),
            (Decision::Deny, Err(wait)) => {
                let detail =
                    "the rate limit of this key is exceeded: wait and send the request again";
                let denied = ReceiveError::new(429, "rate_limited", Reason::Rate, detail);
                Err(ReceiveError { retry_after: Some(wait), ..denied })
            }
            (Decision::Deny, Ok(())) => Err(ReceiveError::unproven(Reason::Policy)),
        }
    }

    /// A signed handshake.
    #[instrument(level = "debug", name = "greet", skip_all)]
    async fn greet_proved(
        &self,
        message: &VerifiedMessage<'_>,
        request: &ReceivedRequest,
        now: Time,
    ) -> Result<(), Interrupt> {
        match handshake::signed(&self.verifier, message, request, now).await {
            Some(Ok(reply)) => Err(Interrupt::Reply(reply)),
            Some(Err(denied)) => Err(denied.into()),
            None => Ok(()),
        }
    }

    /// Deduplication, ledger line, receipt and deliveries. A body that does not match the schema is stored
    /// as well, in the ledger and as a dead letter, and the sender gets an error.
    #[instrument(level = "debug", skip_all)]
    async fn accept(
        &self,
        parts: Parts,
        misfits: Vec<FieldError>,
        now: Time,
    ) -> Result<Acceptance, ReceiveError> {
        let fits = misfits.is_empty();
        let parts = match misfits.first() {
            Some(first) => parts.withhold(misfit(first)),
            None => parts,
        };
        let partner = parts.source.source.partner.clone();
        let body_sha256 = parts.identity.body_sha256;
        let sign = |receipt| policy_sign(&self.keys, receipt, &body_sha256, now);
        let accepted = self.keeper.keep(parts, |receipt| fits.then(|| sign(receipt))).await;
        let (taken, signed) = accepted.map_err(|error| ReceiveError::store(&error))?;
        self.count(&partner, taken);
        let AcceptedReceipt { receipt, is_repeat, clashes_with } = taken;
        if !fits {
            return Err(ReceiveError::misfit(misfits, receipt));
        }
        // The signature belongs to the receipt that a new webhook would have had.
        let policy_sign = signed.filter(|_| !is_repeat).unwrap_or_else(|| sign(receipt));
        Ok(Acceptance { receipt, policy_sign, is_repeat, clashes_with })
    }

    fn count(&self, partner: &Partner, taken: AcceptedReceipt) {
        if taken.is_repeat {
            self.counters.repeated(partner.as_str());
            return;
        }
        self.counters.received(partner.as_str());
        if let Some(first) = taken.clashes_with {
            let receipt = taken.receipt;
            self.counters.clashed(partner.as_str());
            tracing::warn!(%partner, %receipt, %first, "event id reused with a different body; stored as a dead letter");
        }
    }

    /// Counts the outcome. A rejection is also recorded for the operator, under its source if that is known.
    fn stop(
        &self,
        stop: Interrupt,
        source: Option<&PreparedSource>,
        request: &ReceivedRequest,
        now: Time,
    ) -> Outcome {
        let denied = match stop {
            Interrupt::Reply(reply) => {
                self.counters.greeted();
                return Outcome::Reply(reply);
            }
            Interrupt::Rejected(denied) => denied,
        };
        self.counters.denied(denied.reason);
        let note = denied.note.as_deref().map(str::to_owned);
        let detail = note.or_else(|| match denied.reason {
            Reason::BadJson | Reason::MalformedTimestamp => Some(denied.detail.to_string()),
            Reason::Schema => denied.faults.first().map(ToString::to_string),
            _ => None,
        });
        self.rejections.note(source, request, denied.status, denied.reason, detail, now);
        Outcome::Rejected(denied)
    }

    /// A request whose body was refused before it was read: counted, but not recorded.
    pub fn refused_unread(&self) {
        self.counters.denied(Reason::TooLarge);
    }

    fn unknown(&self, request: &ReceivedRequest, now: Time) -> ReceiveError {
        if request.verb == Verb::Get {
            return ReceiveError::unproven(Reason::UnknownPartner);
        }
        match preconditions::check_type(&request.headers) {
            Ok(_) => self.verifier.refuse_unknown(request, now),
            Err(denied) => denied,
        }
    }

    /// An unverified request is answered as if the partner did not exist. Otherwise the error about a
    /// malformed header would reveal which partners exist, and which preset they use.
    /// The recorded reason stays the same. A 503 is passed on as it is, so that the sender retries: it says nothing
    /// about the partner.
    fn as_unknown(
        &self,
        denied: ReceiveError,
        source: &PreparedSource,
        request: &ReceivedRequest,
        now: Time,
    ) -> ReceiveError {
        // Requests of unknown partners are verified with the gateway's own scheme, which responds in the
        // same way.
        if denied.status == 503 || source.preset.is_own_form() {
            return denied;
        }
        let told = self.unknown(request, now);
        let said = || (denied.status == 400).then(|| denied.detail.clone().into());
        let note = denied.note.clone().or_else(said);
        ReceiveError { reason: denied.reason, note, ..told }
    }
}

/// Checks that the body is strict JSON, and identifies the message.
#[instrument(level = "debug", skip_all)]
fn identify(
    message: &VerifiedMessage<'_>,
    source: &Arc<PreparedSource>,
    request: &ReceivedRequest,
) -> Result<Parts, ReceiveError> {
    let found = strict_json::check(&request.body, source.event_id.as_ref())
        .map_err(|error| ReceiveError::new(400, "bad_json", Reason::BadJson, error.to_string()))?;
    let event_id = found.and_then(identity::event_id);
    let topic = message.topic(request);
    let identity = identity::identify(message, event_id, topic, &request.body);
    let key_id: Box<str> = message.key.key.key_id.as_str().into();
    let label = ReceiptLabel::write(&source.source.partner, &key_id, topic);
    let record = RequestRecord::of(source, request).write();
    let record = record.map_err(|error| ReceiveError::store(&error))?;
    let (source, body, is_test) = (source.clone(), request.body.clone(), request.is_test);
    Ok(Parts { source, identity, key_id, label, body, request: record, is_test, withheld: None })
}

#[instrument(level = "debug", skip_all)]
async fn check_schema(
    source: &Arc<PreparedSource>,
    request: &ReceivedRequest,
) -> Result<Vec<FieldError>, ReceiveError> {
    source.schema_errors(&request.body).await.map_err(|_| ReceiveError::unusable())
}

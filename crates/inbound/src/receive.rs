//! Receives a request: find the source → answer an unsigned handshake → verify the signature → pass (rate
//! limit and policy) → answer a signed handshake → identify (strict JSON, event id for deduplication) → check
//! the schema → accept, in one transaction → respond, signed.
//!
//! Each step has a file: [`preconditions`] (size and media type), [`handshake`], [`verify`] (signatures),
//! [`policy`], [`identity`] (deduplication), [`accept`] (one transaction), [`policy_sign`] (the signature of
//! the response), [`reject`] (requests that end early). An unverified request causes no read of the store.
//! The signature schemes and handshakes of senders are in `verify` and `handshake`.

pub mod accept;
pub mod handshake;
pub mod identity;
pub mod policy;
pub mod policy_sign;
pub mod preconditions;
mod reject;
pub mod verify;

use std::sync::Arc;

use gancho_domain::{FieldError, ReceiptLabel, Time};
use gancho_engine::NodeRole;
use gancho_wire::strict_json;
use tracing::instrument;

use self::{
    accept::{AcceptedReceipt, Parts},
    policy::{Decision, PolicyInput},
    policy_sign::policy_sign,
    reject::EarlyReply,
    verify::VerifiedMessage,
};
use crate::{
    Inbound, Partner, ReceivedRequest, RequestMethod, RequestRecord,
    dispatch::misfit,
    outcome::{Acceptance, Outcome, Reason, ReceiveError},
    registry::{PreparedSource, SourceLookup},
};

impl Inbound {
    pub async fn receive(&self, request: &ReceivedRequest) -> Outcome {
        self.receive_if(request, &|| true).await
    }

    /// As [`Self::receive`], unless `admit` refuses the request. It is called once the request is verified: what
    /// nobody has signed must not use up a partner's share.
    #[instrument(level = "debug", skip_all, fields(partner = request.partner))]
    pub async fn receive_if(
        &self,
        request: &ReceivedRequest,
        admit: &(dyn Fn() -> bool + Sync),
    ) -> Outcome {
        let now = self.clock.now();
        let source = match self.find(request, now).await {
            Ok(source) => source,
            Err(stop) => return self.stop(stop, None, request, now),
        };
        match self.verify_and_accept(&source, request, admit, now).await {
            Ok(accepted) => Outcome::Accepted(accepted),
            Err(stop) => self.stop(stop, Some(&source), request, now),
        }
    }

    async fn verify_and_accept(
        &self,
        source: &Arc<PreparedSource>,
        request: &ReceivedRequest,
        admit: &(dyn Fn() -> bool + Sync),
        now: Time,
    ) -> Result<Acceptance, EarlyReply> {
        self.greet(source, request, now)?;
        let parts = {
            let message = self.verify(source, request, now).await?;
            if !admit() {
                return Err(ReceiveError::too_many_at_a_time().into());
            }
            self.pass(&message, now)?;
            self.greet_verified(&message, request, now).await?;
            identify(&message, source, request)?
        };
        let misfits = check_schema(source, request).await?;
        Ok(self.accept(parts, misfits, now).await?)
    }

    /// Finds the source that the request claims to be from.
    #[instrument(level = "debug", skip_all)]
    async fn find(
        &self,
        request: &ReceivedRequest,
        now: Time,
    ) -> Result<Arc<PreparedSource>, EarlyReply> {
        preconditions::check_size(request, &self.limits)?;
        if let Some(reply) = handshake::for_anyone(request) {
            return Err(EarlyReply::Reply(reply));
        }
        let found = self.sources.find(&request.partner).await;
        match found.map_err(|error| ReceiveError::store(&error))? {
            SourceLookup::Source(source) => Ok(source),
            SourceLookup::Nobody => Err(self.unknown(request, now).into()),
            SourceLookup::Unusable(_) => Err(ReceiveError::unusable().into()),
        }
    }

    /// Answers an unsigned handshake. A GET request can be nothing else.
    #[instrument(level = "debug", skip_all)]
    fn greet(
        &self,
        source: &PreparedSource,
        request: &ReceivedRequest,
        now: Time,
    ) -> Result<(), EarlyReply> {
        match handshake::unsigned(source, request) {
            Some(Ok(reply)) => Err(EarlyReply::Reply(reply)),
            Some(Err(error)) => Err(self.as_unknown(error, source, request, now).into()),
            None if request.verb == RequestMethod::Get => {
                Err(ReceiveError::unproven(Reason::Handshake).into())
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
        let message = verified.map_err(|error| self.as_unknown(error, source, request, now))?;
        if !message.is_json_by_itself() {
            preconditions::require_json(media)?;
        }
        Ok(message)
    }

    /// Applies the rate limit and the policy pack. Only verified requests count against the rate, so that
    /// nobody else can use up a partner's.
    #[instrument(level = "debug", skip_all)]
    fn pass(&self, message: &VerifiedMessage<'_>, now: Time) -> Result<(), ReceiveError> {
        let within = match message.source.rate {
            Some(rate) => {
                let nodes = self.acceptor.engine.nodes_with(NodeRole::Ingest);
                message.key.take(rate.shared_by(nodes), now)
            }
            None => Ok(()),
        };
        let bits = PolicyInput { verified: true, rate_ok: within.is_ok() };
        match (self.policy.pack().decide(bits), within) {
            (Decision::Allow, _) => Ok(()),
            (Decision::Deny, Err(wait)) => {
                let detail =
                    "the rate limit of this key is exceeded: wait and send the request again";
                let error = ReceiveError::new(429, "rate_limited", Reason::Rate, detail);
                Err(ReceiveError { retry_after: Some(wait), ..error })
            }
            (Decision::Deny, Ok(())) => Err(ReceiveError::unproven(Reason::Policy)),
        }
    }

    /// Answers a signed handshake.
    #[instrument(level = "debug", name = "greet", skip_all)]
    async fn greet_verified(
        &self,
        message: &VerifiedMessage<'_>,
        request: &ReceivedRequest,
        now: Time,
    ) -> Result<(), EarlyReply> {
        match handshake::signed(&self.verifier, message, request, now).await {
            Some(Ok(reply)) => Err(EarlyReply::Reply(reply)),
            Some(Err(error)) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// Deduplicates, and stores the ledger line, the receipt and the deliveries. A body that does not match
    /// the schema is stored as well, in the ledger and as a dead letter, and the sender gets an error.
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
        let accepted = self.acceptor.accept(parts, |receipt| fits.then(|| sign(receipt))).await;
        let (accepted, signed) = accepted.map_err(|error| ReceiveError::store(&error))?;
        self.count(&partner, accepted);
        let AcceptedReceipt { receipt, is_repeat, clashes_with } = accepted;
        if !fits {
            return Err(ReceiveError::misfit(misfits, receipt));
        }
        // The signature is for the receipt that a new webhook would have had.
        let policy_sign = signed.filter(|_| !is_repeat).unwrap_or_else(|| sign(receipt));
        Ok(Acceptance { receipt, policy_sign, is_repeat, clashes_with })
    }

    fn count(&self, partner: &Partner, accepted: AcceptedReceipt) {
        if accepted.is_repeat {
            self.counters.count_repeat(partner.as_str());
            return;
        }
        self.counters.count_receipt(partner.as_str());
        if let Some(first) = accepted.clashes_with {
            let receipt = accepted.receipt;
            self.counters.count_clash(partner.as_str());
            tracing::warn!(%partner, %receipt, %first, "event id reused with a different body; stored as a dead letter");
        }
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

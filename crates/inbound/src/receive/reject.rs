//! Requests that end early: how they are counted, recorded and answered. The answer to an unverified request
//! is the same as if the partner did not exist.

use gancho_domain::Time;

use super::preconditions;
use crate::{
    Inbound, ReceivedRequest, RequestMethod,
    outcome::{Outcome, Reason, ReceiveError, Reply},
    registry::PreparedSource,
};

/// Why a request ends early.
pub(super) enum EarlyReply {
    Reply(Reply),
    Rejected(ReceiveError),
}

impl From<ReceiveError> for EarlyReply {
    fn from(error: ReceiveError) -> Self {
        Self::Rejected(error)
    }
}

impl Inbound {
    /// Counts the outcome. A rejection is also recorded for the operator, under its source if that is known.
    pub(super) fn stop(
        &self,
        stop: EarlyReply,
        source: Option<&PreparedSource>,
        request: &ReceivedRequest,
        now: Time,
    ) -> Outcome {
        let error = match stop {
            EarlyReply::Reply(reply) => {
                self.counters.count_greeting();
                return Outcome::Reply(reply);
            }
            EarlyReply::Rejected(error) => error,
        };
        self.counters.count_denial(error.reason);
        let note = error.note.as_deref().map(str::to_owned);
        let detail = note.or_else(|| match error.reason {
            Reason::BadJson | Reason::MalformedTimestamp => Some(error.detail.to_string()),
            Reason::Schema => error.errors.first().map(ToString::to_string),
            _ => None,
        });
        self.rejections.note(source, request, error.status, error.reason, detail, now);
        Outcome::Rejected(error)
    }

    /// Counts a request whose body was refused before it was read. It is not recorded.
    pub fn refused_unread(&self) {
        self.counters.count_denial(Reason::TooLarge);
    }

    pub(super) fn unknown(&self, request: &ReceivedRequest, now: Time) -> ReceiveError {
        if request.verb == RequestMethod::Get {
            return ReceiveError::unproven(Reason::UnknownPartner);
        }
        match preconditions::check_type(&request.headers) {
            Ok(_) => self.verifier.refuse_unknown(request, now),
            Err(error) => error,
        }
    }

    /// Answers an unverified request as if the partner did not exist. Otherwise the error about a malformed
    /// header would reveal which partners exist, and which preset they use. The recorded reason stays the
    /// same. A 503 stays a 503, so that the sender retries: it says nothing about the partner.
    pub(super) fn as_unknown(
        &self,
        error: ReceiveError,
        source: &PreparedSource,
        request: &ReceivedRequest,
        now: Time,
    ) -> ReceiveError {
        // Requests of unknown partners are verified with the gateway's own scheme, which responds in the
        // same way.
        if error.status == 503 || source.preset.is_own_form() {
            return error;
        }
        let shown = self.unknown(request, now);
        let detail = || (error.status == 400).then(|| error.detail.clone().into());
        let note = error.note.clone().or_else(detail);
        ReceiveError { reason: error.reason, note, ..shown }
    }
}

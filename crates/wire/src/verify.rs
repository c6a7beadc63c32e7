//! Verifies that a request comes from the claimed sender, is complete, and is current.

use std::time::Duration;

use aws_lc_rs::digest::{Context, SHA256};
use data_encoding::HEXLOWER;
use gancho_domain::Time;

use crate::{
    HeaderPart, Headers, Recipe, VerifyError, VerifyingKey,
    base_string::Piece,
    candidates::Claim,
    headers::{message_id, required},
    recipe::Names,
};

/// Maximum difference of a timestamp from now, in either direction.
pub const DEFAULT_TOLERANCE: Duration = Duration::from_mins(5);

/// A verified request. Only [`Recipe::verify`] creates one.
#[derive(Debug)]
pub struct VerifiedRequest<'a> {
    timestamp: Option<Time>,
    message_id: Option<&'a str>,
    key: usize,
    base: Vec<&'a [u8]>,
}

impl VerifiedRequest<'_> {
    /// Returns when the sender signed it, for schemes that sign the time.
    pub fn timestamp(&self) -> Option<Time> {
        self.timestamp
    }

    /// Returns the message's id, if it is signed. An id in a header that no signature covers is not returned,
    /// because anyone who replays a message could change it.
    pub fn message_id(&self) -> Option<&str> {
        self.message_id
    }

    /// Returns which of the keys it was, counted from 0.
    pub fn key(&self) -> usize {
        self.key
    }

    /// Returns the SHA-256 of the signed text, in hex: the identity of a message that has no id.
    pub fn base_sha256(&self) -> String {
        let mut context = Context::new(&SHA256);
        for part in &self.base {
            context.update(part);
        }
        HEXLOWER.encode(context.finish().as_ref())
    }
}

impl Recipe {
    /// Verifies one request. `keys` are those of this sender that are valid now; each is tried, at the cost
    /// of one pass over the body.
    ///
    /// `headers` must be all headers of the request and `body` its bytes as received.
    pub fn verify<'a>(
        &'a self,
        keys: &[VerifyingKey],
        headers: &Headers<'a>,
        body: &'a [u8],
        now: Time,
        tolerance: Duration,
    ) -> Result<VerifiedRequest<'a>, VerifyError> {
        let names = self.names(headers);
        let header = required(headers, &names.signature, HeaderPart::Signature)?;
        let time_header = match &names.timestamp {
            Some(name) => Some(required(headers, name, HeaderPart::Timestamp)?),
            None => None,
        };
        let message_id = self.message_id(names, headers)?;
        // A time in its own header is checked before the signature, so that a malformed one is distinguished
        // from an unverified request, whatever the signature is.
        let read = |text| self.time_form.read(text);
        let time_in_header = time_header.map(read).transpose()?;

        let claim = self.layout.read(header)?;
        let time_text = time_header.or(claim.timestamp);
        let timestamp = match time_in_header {
            Some(time) => Some(time),
            None => claim.timestamp.map(read).transpose()?,
        };
        self.check_fresh(timestamp, now, tolerance)?;

        let id_text = message_id.unwrap_or_default().as_bytes();
        let base = self.base.fill(time_text.unwrap_or_default(), id_text, body);
        let key = matching_key(keys, &base, &claim).ok_or(VerifyError::NoMatch)?;
        Ok(VerifiedRequest { timestamp, message_id, key, base })
    }

    fn message_id<'a>(
        &self,
        names: &Names,
        headers: &Headers<'a>,
    ) -> Result<Option<&'a str>, VerifyError> {
        match &names.id {
            Some(name) if self.base.has(&Piece::Id) => {
                message_id(required(headers, name, HeaderPart::Id)?).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Checks the timestamp. The window includes both ends. Compares whole seconds, because most senders send
    /// nothing finer.
    fn check_fresh(
        &self,
        timestamp: Option<Time>,
        now: Time,
        tolerance: Duration,
    ) -> Result<(), VerifyError> {
        match timestamp {
            Some(time) if now.secs().abs_diff(time.secs()) <= tolerance.as_secs() => Ok(()),
            Some(_) => Err(VerifyError::Stale),
            None if self.is_timed() => Err(VerifyError::Missing(HeaderPart::Timestamp)),
            None => Ok(()),
        }
    }
}

/// Returns the first key that made one of the claimed signatures.
fn matching_key(keys: &[VerifyingKey], base: &[&[u8]], claim: &Claim<'_>) -> Option<usize> {
    if keys.is_empty() {
        // The decoy's result is ignored: anyone could have made its signature.
        VerifyingKey::decoy().signed(base, &claim.candidates);
    }
    keys.iter().position(|key| key.signed(base, &claim.candidates))
}

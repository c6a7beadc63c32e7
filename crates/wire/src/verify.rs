//! The decision whether a request comes from who it says it does, is whole, and is of now.

use std::time::Duration;

use aws_lc_rs::digest::{Context, SHA256};
use data_encoding::HEXLOWER;
use gancho_domain::Time;

use crate::{
    Headers, Part, Recipe, VerifyError, VerifyingKey,
    base_string::Piece,
    candidates::Claim,
    headers::{message_id, required},
    recipe::Names,
};

/// How far a timestamp may be from now, either way.
pub const DEFAULT_TOLERANCE: Duration = Duration::from_mins(5);

/// A request that was verified. Only [`Recipe::verify`] makes one.
#[derive(Debug)]
pub struct VerifiedRequest<'a> {
    timestamp: Option<Time>,
    message_id: Option<&'a str>,
    key: usize,
    base: Vec<&'a [u8]>,
}

impl VerifiedRequest<'_> {
    /// When the sender signed it, for schemes that sign the time.
    pub fn timestamp(&self) -> Option<Time> {
        self.timestamp
    }

    /// The message's id, if it is signed. An id in a header that no signature covers is not given
    /// here, because who replays a message could change it.
    pub fn message_id(&self) -> Option<&str> {
        self.message_id
    }

    /// Which of the keys it was, counted from 0.
    pub fn key(&self) -> usize {
        self.key
    }

    /// SHA-256 of what was signed, in hex: the identity of a message that has no id.
    pub fn base_sha256(&self) -> String {
        let mut context = Context::new(&SHA256);
        for part in &self.base {
            context.update(part);
        }
        HEXLOWER.encode(context.finish().as_ref())
    }
}

impl Recipe {
    /// Verifies one request. `keys` are those of this sender that are valid now; each is tried,
    /// and each at the cost of one pass over the body.
    ///
    /// `headers` must be all headers of the request and `body` its bytes as they came.
    pub fn verify<'a>(
        &'a self,
        keys: &[VerifyingKey],
        headers: &Headers<'a>,
        body: &'a [u8],
        now: Time,
        tolerance: Duration,
    ) -> Result<VerifiedRequest<'a>, VerifyError> {
        let names = self.names(headers);
        let header = required(headers, &names.signature, Part::Signature)?;
        let time_header = match &names.timestamp {
            Some(name) => Some(required(headers, name, Part::Timestamp)?),
            None => None,
        };
        let message_id = self.message_id(names, headers)?;
        // A time that has its own header is judged before the signature, so that a malformed one
        // is distinguished from an unproven request, whatever the signature says.
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
                message_id(required(headers, name, Part::Id)?).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Both ends of the window are inside it. Whole seconds are compared, as most senders send
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
            None if self.is_timed() => Err(VerifyError::Missing(Part::Timestamp)),
            None => Ok(()),
        }
    }
}

/// The first key that made one of the claimed signatures.
fn matching_key(keys: &[VerifyingKey], base: &[&[u8]], claim: &Claim<'_>) -> Option<usize> {
    if keys.is_empty() {
        // What the decoy says is ignored: anyone could have made its signature.
        VerifyingKey::decoy().signed(base, &claim.candidates);
    }
    keys.iter().position(|key| key.signed(base, &claim.candidates))
}

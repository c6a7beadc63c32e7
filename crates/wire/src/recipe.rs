//! A recipe: a sender's signature scheme, as needed for verification.

use crate::{
    HeaderPart, HeaderValue, Headers, Profile, ProfileError, Scheme, SignatureEncoding,
    TimestampFormat, VerifyError,
    base_string::{BaseString, Piece},
    candidates::Layout,
    headers::{has, key_id, required},
};

/// Verifies requests of one kind. Created once by [`crate::Preset::recipe`] or [`Recipe::for_profile`], and
/// used for every request.
///
/// Its fields are private because they depend on each other: a timestamp or an id that is read must be
/// signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    pub(crate) names: Names,
    /// Another set of header names that the same sender may use. Sets are never mixed.
    pub(crate) other_names: Option<Names>,
    pub(crate) key_id_header: Option<String>,
    pub(crate) layout: Layout,
    pub(crate) time_form: TimestampFormat,
    pub(crate) base: BaseString,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    pub signature: String,
    /// `None` if there is no timestamp, or if the signature header contains it.
    pub timestamp: Option<String>,
    pub id: Option<String>,
}

impl Recipe {
    /// Returns the recipe with which a receiver verifies deliveries of a profile.
    pub fn for_profile(profile: &Profile) -> Result<Self, ProfileError> {
        if let Some(error) = profile.errors().into_iter().next() {
            return Err(error);
        }
        let (signature, scheme) = (&profile.signature.header, profile.signature.scheme);
        Ok(match scheme {
            Scheme::Standard => Self::standard(Names {
                signature: signature.clone(),
                timestamp: profile.header_of(HeaderValue::TimeSeconds).map(str::to_owned),
                id: profile.header_of(HeaderValue::EventId).map(str::to_owned),
            }),
            Scheme::Sha256 | Scheme::Hex | Scheme::V0 => {
                let prefix = scheme.body_prefix().unwrap_or_default();
                Self::single(signature, prefix, SignatureEncoding::Hex)
            }
            Scheme::TimedSeconds => Self::timed(signature, TimestampFormat::Seconds),
            Scheme::TimedMillis => Self::timed(signature, TimestampFormat::Millis),
        })
    }

    /// `v1,… v1a,…` of `id.timestamp.body`
    pub(crate) fn standard(names: Names) -> Self {
        let dot = || Piece::Text(".".to_owned());
        Self {
            names,
            other_names: None,
            key_id_header: None,
            layout: Layout::Versions,
            time_form: TimestampFormat::Seconds,
            base: BaseString::of(vec![Piece::Id, dot(), Piece::Timestamp, dot(), Piece::Body]),
        }
    }

    /// `t=…,v1=…` of `timestamp.body`
    pub(crate) fn timed(signature: &str, time_form: TimestampFormat) -> Self {
        Self {
            names: Names { signature: signature.to_owned(), timestamp: None, id: None },
            other_names: None,
            key_id_header: None,
            layout: Layout::Fields,
            time_form,
            base: Self::timestamp_and_body(),
        }
    }

    /// One HMAC of the body, after a prefix
    pub(crate) fn single(signature: &str, prefix: &str, encoding: SignatureEncoding) -> Self {
        Self {
            names: Names { signature: signature.to_owned(), timestamp: None, id: None },
            other_names: None,
            key_id_header: None,
            layout: Layout::Single { prefix: prefix.to_owned(), encoding },
            time_form: TimestampFormat::Seconds,
            base: BaseString::default(),
        }
    }

    pub(crate) fn timestamp_and_body() -> BaseString {
        BaseString::of(vec![Piece::Timestamp, Piece::Text(".".to_owned()), Piece::Body])
    }

    /// Returns the id of the key that the sender says it used, for schemes that name one. It may only select
    /// among the keys that are configured for this sender.
    pub fn key_id<'a>(&self, headers: &Headers<'a>) -> Result<Option<&'a str>, VerifyError> {
        match &self.key_id_header {
            Some(name) => key_id(required(headers, name, HeaderPart::KeyId)?).map(Some),
            None => Ok(None),
        }
    }

    /// Whether a message's time is signed. If not, only deduplication protects from replays.
    pub fn is_timed(&self) -> bool {
        self.base.has(&Piece::Timestamp)
    }

    pub(crate) fn names(&self, headers: &Headers<'_>) -> &Names {
        match &self.other_names {
            Some(other) if !self.names.any_in(headers) && other.any_in(headers) => other,
            _ => &self.names,
        }
    }
}

impl Names {
    fn any_in(&self, headers: &Headers<'_>) -> bool {
        has(headers, &self.signature)
            || self.timestamp.as_ref().is_some_and(|name| has(headers, name))
            || self.id.as_ref().is_some_and(|name| has(headers, name))
    }
}

//! Wire formats: the envelope, headers and signature of webhooks, and their verification.
//!
//! Outbound, a [`Profile`] is plain data that selects an envelope, headers and a signature scheme;
//! [`Envelope::render`] makes the body once and [`sign`] makes the headers for one attempt. Inbound, a
//! [`Preset`] is a sender's signature scheme, its [`Recipe`] verifies requests, and a request that cannot be
//! verified is a [`VerifyError`].
//!
//! Files, in reading order:
//!
//! | File | Content |
//! |---|---|
//! | `profile` | the wire format of a delivery, as data |
//! | `built_in` | the built-in profiles |
//! | `profile_check` | validates a profile that an operator wrote |
//! | `span` | durations in configuration: `30s`, `2h` |
//! | `envelope` | the body around the publisher's data |
//! | `secret` | decodes secrets, and refuses weak ones |
//! | `signing_key`, `verifying_key` | prepared keys, which are never shown |
//! | `new_secret` | generates secrets |
//! | `sign` | the headers of one attempt |
//! | `signature_check` | finds which signed part a receiver got differently |
//! | `headers`, `timestamp`, `candidates`, `base_string` | read the parts of a request that verification needs, strictly |
//! | `recipe`, `generic`, `preset` | a sender's signature scheme, as data |
//! | `as_sender` | signs as the sender does |
//! | `verify`, `verify_error` | the decision, and the reason for a refusal |
//! | `token` | verifies senders that send a fixed token instead of a signature |
//! | `strict_json` | checks that a body is JSON, and returns values in it as written |
//!
//! This crate never opens a socket or a file, never reads the clock (times are parameters), never
//! re-serializes the publisher's data (the signed bytes are the sent bytes), never lets a header choose the
//! algorithm (the key does), and never shows a secret in an error, in `Debug` or in a header.

mod as_sender;
mod base_string;
mod built_in;
mod candidates;
mod envelope;
mod generic;
mod headers;
mod new_secret;
mod preset;
mod profile;
mod profile_check;
mod recipe;
mod secret;
mod sign;
mod signature_check;
mod signing_key;
mod span;
pub mod strict_json;
mod timestamp;
mod token;
mod verify;
mod verify_error;
mod verifying_key;

pub use base_string::{BaseString, BaseStringError};
pub use candidates::{MAX_ED25519_SIGNATURES, MAX_SIGNATURES};
pub use envelope::Content;
pub use generic::{GenericHmac, GenericHmacError, SignatureEncoding};
pub use headers::{Headers, MAX_HEADER_BYTES};
pub use new_secret::{NewKeyPair, RandomError, new_key_pair, new_secret};
pub use preset::Preset;
pub use profile::{Envelope, HeaderLine, HeaderValue, Profile, Scheme, SignatureLine};
pub use profile_check::ProfileError;
pub use recipe::Recipe;
pub use secret::{KeyError, SecretEncoding, SecretFormat};
pub use sign::{AttemptMetadata, SignError, sign, sign_as_partner};
pub use signature_check::{SignatureCheck, SignedPart, SignedParts, check_signature};
pub use signing_key::SigningKey;
pub use timestamp::TimestampFormat;
pub use token::Token;
pub use verify::{DEFAULT_TOLERANCE, VerifiedRequest};
pub use verify_error::{HeaderPart, TimestampError, VerifyError};
pub use verifying_key::VerifyingKey;

/// Compiles the Rust examples of the document.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/verifying.md")]
pub struct VerifyingDocument;

//! Wire formats: the envelope, headers and signature of webhooks, and their verification.
//!
//! Outbound, a [`Profile`] is plain data that names an envelope, headers and a signature scheme;
//! [`Envelope::render`] makes the body once and [`sign`] makes the headers for one attempt.
//! Inbound, a [`Preset`] names a sender's way of signing, its [`Recipe`] verifies requests, and
//! whatever is not beyond doubt is a [`VerifyError`].
//!
//! Files, in reading order:
//!
//! | File | What it holds |
//! |---|---|
//! | `profile` | the data that describes how a delivery looks |
//! | `built_in` | the four profiles that come with the program |
//! | `profile_check` | what is wrong with a profile that an operator wrote |
//! | `span` | durations as configuration writes them: `30s`, `2h` |
//! | `envelope` | the body around the publisher's data |
//! | `secret` | which bytes a secret's text stands for, and which secrets are refused |
//! | `signing_key`, `verifying_key` | keys, prepared once, that never show themselves |
//! | `new_secret` | secrets that the program makes |
//! | `sign` | the headers of one attempt |
//! | `signature_check` | which part of a signed request a receiver has otherwise |
//! | `headers`, `timestamp`, `candidates`, `base_string` | the parts of a request that verifying reads, each strictly |
//! | `recipe`, `generic`, `preset` | how a sender signs, as data |
//! | `as_sender` | the other side of a recipe: signing as the sender does |
//! | `verify`, `verify_error` | the decision, and why it was no |
//! | `token` | for senders that send a fixed token instead of a signature |
//! | `strict_json` | which bodies are JSON, and the values in them as they were written |
//!
//! This crate never opens a socket or a file, never reads the clock (times are parameters), never
//! re-serializes the publisher's data (the bytes that are signed are the bytes that are sent), never lets a
//! header choose the algorithm (the key does), and never shows a secret in an error, in `Debug` or in a
//! header.

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
pub use sign::{Sending, SignError, sign, sign_as_partner};
pub use signature_check::{SignatureCheck, SignedPart, SignedParts, check_signature};
pub use signing_key::SigningKey;
pub use timestamp::TimeForm;
pub use token::Token;
pub use verify::{DEFAULT_TOLERANCE, VerifiedRequest};
pub use verify_error::{Part, TimestampError, VerifyError};
pub use verifying_key::VerifyingKey;

/// The Rust of the document compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/verifying.md")]
pub struct VerifyingDocument;

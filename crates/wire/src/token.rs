//! A fixed token in a header, for senders that sign nothing. It proves who sent a request, but neither that
//! it is complete nor that it is current.

use std::fmt;

use aws_lc_rs::{
    constant_time::verify_slices_are_equal,
    digest::{Digest, SHA256, digest},
};

use crate::{HeaderPart, Headers, KeyError, VerifyError, headers::required, secret};

/// A token's digest. All digests have the same length, so that comparing takes the same time whatever was
/// sent, and the token itself is not stored.
pub struct Token(Digest);

impl Token {
    pub fn new(text: &str) -> Result<Self, KeyError> {
        Ok(Self(digest(&SHA256, &secret::raw(text)?)))
    }

    /// Verifies that the header has this token, once.
    pub fn verify(&self, headers: &Headers<'_>, name: &str) -> Result<(), VerifyError> {
        let given = digest(&SHA256, required(headers, name, HeaderPart::Signature)?);
        verify_slices_are_equal(self.0.as_ref(), given.as_ref()).map_err(|_| VerifyError::NoMatch)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(redacted)")
    }
}

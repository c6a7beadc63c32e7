//! A request that tests build, manipulate and verify.

use std::time::Duration;

use gancho_domain::Time;
use gancho_wire::{DEFAULT_TOLERANCE, Preset, Recipe, SecretEncoding, VerifyError, VerifyingKey};

pub const NOW: Time = Time::from_secs(1_706_012_345);
pub const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

#[derive(Debug, Clone)]
pub struct Request {
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    pub now: Time,
    pub tolerance: Duration,
}

/// The verified request, without borrows.
#[derive(Debug, PartialEq, Eq)]
pub struct Accepted {
    pub timestamp: Option<Time>,
    pub message_id: Option<String>,
    pub key: usize,
    pub base_sha256: String,
}

impl Request {
    pub fn new(body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref().to_vec();
        Self { headers: Vec::new(), body, now: NOW, tolerance: DEFAULT_TOLERANCE }
    }

    /// Adds a header, besides any other of its name.
    pub fn add(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Replaces any other header of its name.
    pub fn set(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.without(name).add(name, value)
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
        self
    }

    pub fn at(mut self, now: Time) -> Self {
        self.now = now;
        self
    }

    pub fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    pub fn header(&self, name: &str) -> &[u8] {
        let found = self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        &found.expect(name).1
    }

    pub fn verify(&self, recipe: &Recipe, keys: &[VerifyingKey]) -> Result<Accepted, VerifyError> {
        let headers: Vec<(&str, &[u8])> =
            self.headers.iter().map(|(n, v)| (n.as_str(), v.as_slice())).collect();
        let verified = recipe.verify(keys, &headers, &self.body, self.now, self.tolerance)?;
        Ok(Accepted {
            timestamp: verified.timestamp(),
            message_id: verified.message_id().map(str::to_owned),
            key: verified.key(),
            base_sha256: verified.base_sha256(),
        })
    }

    /// Returns which key matched, or why none did.
    pub fn key(&self, recipe: &Recipe, keys: &[VerifyingKey]) -> Result<usize, VerifyError> {
        self.verify(recipe, keys).map(|accepted| accepted.key)
    }

    /// Changes every part that should matter, one at a time: one flipped bit in the body, in each header, and
    /// one byte more or less.
    pub fn spoiled(&self, headers: &[&str]) -> Vec<Self> {
        let mut spoiled = Vec::new();
        if !self.body.is_empty() {
            for at in [0, self.body.len() / 2, self.body.len() - 1] {
                let mut request = self.clone();
                request.body[at] ^= 1;
                spoiled.push(request);
            }
            spoiled.push(self.clone().body(&self.body[..self.body.len() - 1]));
        }
        spoiled.push(self.clone().body([self.body.as_slice(), b" "].concat()));
        spoiled.push(self.clone().body([self.body.as_slice(), b"\0"].concat()));
        for name in headers {
            let value = self.header(name);
            for at in 0..value.len() {
                let mut value = value.to_vec();
                value[at] ^= 1;
                spoiled.push(self.clone().set(name, value));
            }
            spoiled.push(self.clone().without(name));
            spoiled.push(self.clone().add(name, value));
            spoiled.push(self.clone().set(name, &value[..value.len() - 1]));
            spoiled.push(self.clone().set(name, [value, b" "].concat()));
            spoiled.push(self.clone().set(name, [b" ", value].concat()));
        }
        spoiled
    }
}

pub fn recipe(preset: &Preset) -> Recipe {
    preset.recipe().unwrap()
}

pub fn raw_key(secret: &str) -> VerifyingKey {
    VerifyingKey::hmac(secret, SecretEncoding::Raw).unwrap()
}

/// Computes HMAC-SHA256 with the library alone, to sign what the crate itself would refuse.
pub fn hmac(key: &[u8], message: impl AsRef<[u8]>) -> Vec<u8> {
    let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, key);
    aws_lc_rs::hmac::sign(&key, message.as_ref()).as_ref().to_vec()
}

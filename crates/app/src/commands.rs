//! One file per command. They share [`client`] (calls a running gateway), [`input`] (files, secrets and
//! confirmations), [`table`] (output) and [`progress`].

pub mod audit;
pub mod backup;
pub mod bench;
mod client;
pub mod config;
pub mod deliveries;
pub mod dev;
pub mod emails;
mod input;
pub mod keys;
pub mod ledger;
pub mod pipe;
mod progress;
pub mod restore;
pub mod serve;
pub mod sources;
pub mod stats;
mod table;
pub mod users;

use std::fmt;

/// A failure with a specific exit code.
#[derive(Debug)]
pub struct Failure {
    pub code: u8,
    text: String,
}

/// The command line is invalid.
const USAGE: u8 = 2;
/// A verification failed: the data was changed, or is not what it claims to be.
const DOES_NOT_HOLD: u8 = 3;

impl Failure {
    fn usage(text: impl Into<String>) -> anyhow::Error {
        Self { code: USAGE, text: text.into() }.into()
    }

    fn does_not_hold(text: impl Into<String>) -> anyhow::Error {
        Self { code: DOES_NOT_HOLD, text: text.into() }.into()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

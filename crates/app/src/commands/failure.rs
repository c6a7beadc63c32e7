//! How a command fails: one line that says what is wrong, a `hint:` line that says what to do, and an exit
//! code. With `--json` the same is JSON on standard error.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::{
    paint::{BLUE, RED},
    remote::{ApiError, RemoteError},
    settings::SettingsError,
};

/// Exit codes, as docs/cli.md lists them.
pub const EXIT_CODES: &[(u8, &str)] = &[
    (0, "Success."),
    (FAILED, "Failed for any other reason; a check of `gancho doctor` failed."),
    (USAGE, "The command line, the configuration or the input is invalid. Nothing was done."),
    (DOES_NOT_HOLD, "A verification failed: a signature, a proof or the ledger does not match."),
    (REFUSED, "The server refused the request: not found, invalid or in conflict."),
    (UNAUTHORIZED, "The key is missing or invalid, or does not permit this."),
    (UNREACHABLE, "The server cannot be reached, or is not a Gancho server."),
    (BUSY, "The server is busy or limits the rate. The same command may succeed later."),
    (PARTLY, "Done in part; the output says what was done and what was not."),
];

pub const FAILED: u8 = 1;
pub const USAGE: u8 = 2;
pub const DOES_NOT_HOLD: u8 = 3;
const REFUSED: u8 = 4;
const UNAUTHORIZED: u8 = 5;
pub const UNREACHABLE: u8 = 6;
const BUSY: u8 = 7;
const PARTLY: u8 = 8;

/// A failure with a specific exit code.
#[derive(Debug)]
pub struct Failure {
    pub exit: u8,
    /// The stable word for it.
    code: &'static str,
    text: String,
}

impl Failure {
    pub fn failed(text: impl Into<String>) -> anyhow::Error {
        Self { exit: FAILED, code: "failed", text: text.into() }.into()
    }

    pub fn usage(text: impl Into<String>) -> anyhow::Error {
        Self { exit: USAGE, code: "usage", text: text.into() }.into()
    }

    pub fn does_not_hold(text: impl Into<String>) -> anyhow::Error {
        Self { exit: DOES_NOT_HOLD, code: "does_not_hold", text: text.into() }.into()
    }

    pub fn unreachable(text: impl Into<String>) -> anyhow::Error {
        Self { exit: UNREACHABLE, code: "unreachable", text: text.into() }.into()
    }

    pub fn unauthorized(text: impl Into<String>) -> anyhow::Error {
        Self { exit: UNAUTHORIZED, code: "unauthenticated", text: text.into() }.into()
    }

    pub fn partly(text: impl Into<String>) -> anyhow::Error {
        Self { exit: PARTLY, code: "partly_done", text: text.into() }.into()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

/// Returns the first cause of this type.
fn cause<E: std::error::Error + 'static>(error: &anyhow::Error) -> Option<&E> {
    error.chain().find_map(|cause| cause.downcast_ref())
}

/// Returns the exit code, and the stable word for the error.
fn kind(error: &anyhow::Error) -> (u8, &str) {
    if let Some(failure) = cause::<Failure>(error) {
        return (failure.exit, failure.code);
    }
    if let Some(remote) = cause::<RemoteError>(error) {
        return (exit_of(remote), remote.code());
    }
    if cause::<SettingsError>(error).is_some() {
        return (USAGE, "invalid_configuration");
    }
    (FAILED, "failed")
}

pub fn exit_code(error: &anyhow::Error) -> u8 {
    kind(error).0
}

/// Prints the error and returns the exit code.
pub fn report(error: &anyhow::Error, as_json: bool) -> u8 {
    let remote = cause::<RemoteError>(error);
    let (what, hint) = message_of(error);
    let hint = hint.or_else(|| remote.and_then(RemoteError::hint));
    let (exit, code) = kind(error);
    if as_json {
        let mut shown = Map::new();
        shown.insert("code".into(), code.into());
        shown.insert("message".into(), what.into());
        shown.insert("hint".into(), hint.into());
        shown.insert("exit_code".into(), exit.into());
        if let Some(error) = remote.and_then(RemoteError::api_error) {
            add_api_error(&mut shown, error);
        }
        eprintln!("{}", json!({ "error": shown }));
        return exit;
    }
    print_error(&what, hint.as_deref());
    exit
}

/// Prints an error for a person.
pub fn print_error(what: &str, hint: Option<&str>) {
    anstream::eprintln!("{RED}error:{RED:#} {what}");
    if let Some(hint) = hint {
        anstream::eprintln!("{BLUE}hint:{BLUE:#} {hint}");
    }
}

fn add_api_error(shown: &mut Map<String, Value>, error: &ApiError) {
    let one =
        |(pointer, detail): &(String, String)| json!({ "pointer": pointer, "detail": detail });
    shown.insert("status".into(), error.status.as_u16().into());
    shown.insert("errors".into(), error.errors.iter().map(one).collect());
    shown.insert("request_id".into(), error.request_id.clone().into());
}

fn exit_of(error: &RemoteError) -> u8 {
    match error {
        RemoteError::Unreachable { .. } | RemoteError::NotGancho { .. } => UNREACHABLE,
        RemoteError::InvalidKey => UNAUTHORIZED,
        RemoteError::Interrupted(_) => FAILED,
        RemoteError::Refused(error) => match error.status.as_u16() {
            401 | 403 => UNAUTHORIZED,
            429 | 503 => BUSY,
            400..500 => REFUSED,
            _ => FAILED,
        },
    }
}

/// Returns the error and its causes, and the first hint of one of them.
fn message_of(error: &anyhow::Error) -> (String, Option<String>) {
    let texts: Vec<String> = error.chain().map(ToString::to_string).collect();
    let parts = || texts.iter().map(|text| split(text));
    let whats: Vec<&str> = parts().map(|(what, _)| what).collect();
    (whats.join(": "), parts().find_map(|(_, hint)| hint).map(ToOwned::to_owned))
}

/// Splits a message from its hint: `… . hint: …`.
pub fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once("hint: ") {
        // Several errors have their own hints, where they are reported.
        Some((what, hint)) if !what.contains('\n') => {
            (what.trim_end().trim_end_matches(['.', ';']), Some(hint))
        }
        _ => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_have_a_line_of_their_own() {
        assert_eq!(split("no file. hint: make one"), ("no file", Some("make one")));
        assert_eq!(split("no file"), ("no file", None));
        let several = "2 problems\n  a\n    hint: b";
        assert_eq!(split(several), (several, None));
    }

    #[test]
    fn the_hint_comes_after_all_causes() {
        let error = anyhow::anyhow!("there is none").context("cannot read it. hint: choose one");
        let (what, hint) = message_of(&error);
        assert_eq!(
            (what.as_str(), hint.as_deref()),
            ("cannot read it: there is none", Some("choose one"))
        );
    }

    #[test]
    fn every_exit_code_is_listed_once() {
        let codes: Vec<u8> = EXIT_CODES.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, (0..=PARTLY).collect::<Vec<u8>>());
    }
}

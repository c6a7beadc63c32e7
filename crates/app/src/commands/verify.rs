//! `gancho verify`: checks the signature of a webhook, offline.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use gancho_domain::{Clock, SystemClock, span};
use gancho_wire::{DEFAULT_TOLERANCE, VerifyError, VerifyingKey};
use serde_json::json;

use super::{
    Failure,
    input::{self, SecretFrom},
    sign::{SchemeArgs, time},
    table,
    wire_profile::ProfileFile,
};

/// Check the signature of a webhook that was received.
///
/// Exits with 3 if it does not match. Works offline.
#[derive(Debug, Args)]
pub struct Verify {
    #[command(flatten)]
    scheme: SchemeArgs,
    #[command(flatten)]
    profiles: ProfileFile,
    #[command(flatten)]
    secret: SecretFrom,
    /// Header of the request, as 'NAME: VALUE'. Can be repeated.
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    headers: Vec<String>,
    /// File with the headers of the request, a line each.
    #[arg(long, value_name = "FILE")]
    headers_file: Option<PathBuf>,
    /// File with the body, byte for byte, or `-` for standard input.
    #[arg(long, value_name = "FILE", default_value = "-")]
    body_file: PathBuf,
    /// How far the timestamp may be from now. Default: 5m.
    #[arg(long, value_name = "DURATION")]
    tolerance: Option<String>,
    /// Verify as if it were this time, for requests of the past: seconds since 1970, or
    /// 2026-11-15T10:00:00Z. Default: now.
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub fn run(self) -> anyhow::Result<()> {
        let scheme = self.scheme.read(&self.profiles)?;
        let recipe = scheme.recipe()?;
        let secret = self.secret.required()?;
        let key = if secret.starts_with("whpk_") {
            VerifyingKey::ed25519(&secret)
                .map_err(|error| Failure::usage(format!("invalid public key: {error}")))?
        } else {
            scheme.signing_key(&secret)?.verifying_key()
        };
        let lines = self.header_lines()?;
        let headers = lines.iter().map(|line| header(line)).collect::<anyhow::Result<Vec<_>>>()?;
        let body = input::bytes(&self.body_file)?;
        let now = self.at.as_deref().map_or_else(|| Ok(SystemClock.now()), time)?;
        let tolerance = self.tolerance()?;
        match recipe.verify(&[key], &headers, &body, now, tolerance) {
            Ok(verified) => {
                if self.json {
                    return table::json(&json!({
                        "verified": true,
                        "timestamp": verified.timestamp().map(|time| time.to_string()),
                        "message_id": verified.message_id(),
                    }));
                }
                let at = verified.timestamp();
                let signed = at.map_or_else(String::new, |at| format!(", signed at {at}"));
                table::say(&format!("The signature is valid{signed}."))
            }
            Err(error) => Err(Failure::does_not_hold(format!("{error}{}", hint(error)))),
        }
    }

    fn header_lines(&self) -> anyhow::Result<Vec<String>> {
        let mut lines = self.headers.clone();
        if let Some(path) = &self.headers_file {
            let text = input::text(path)?;
            // The request line of a copied request is not a header.
            let all =
                text.lines().filter(|line| !line.trim().is_empty() && !line.contains(" HTTP/"));
            lines.extend(all.map(ToOwned::to_owned));
        }
        if lines.is_empty() {
            return Err(Failure::usage(
                "no headers are given. hint: --header 'webhook-signature: v1,…'",
            ));
        }
        Ok(lines)
    }

    fn tolerance(&self) -> anyhow::Result<Duration> {
        let Some(text) = &self.tolerance else { return Ok(DEFAULT_TOLERANCE) };
        span::parse(text).map_err(|error| Failure::usage(error.to_string()))
    }
}

fn header(line: &str) -> anyhow::Result<(&str, &[u8])> {
    match line.split_once(':') {
        Some((name, value)) => Ok((name.trim(), value.trim().as_bytes())),
        None => Err(Failure::usage(format!(
            "`{line}` is not a header. hint: write it as 'NAME: VALUE'"
        ))),
    }
}

fn hint(error: VerifyError) -> &'static str {
    match error {
        VerifyError::Stale => {
            ". hint: it is old, or a clock is wrong; --at verifies a request of the past"
        }
        VerifyError::NoMatch => {
            ". hint: the body must be the bytes that were sent, and the secret that of the endpoint"
        }
        VerifyError::Missing(_) => ". hint: give all headers of the request",
        _ => "",
    }
}

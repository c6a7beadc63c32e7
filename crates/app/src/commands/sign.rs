//! `gancho sign`: computes the headers of a signed webhook, offline.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use gancho_domain::{Clock, SystemClock, Time};
use gancho_wire::{AttemptMetadata, Preset, Profile, Recipe, SecretEncoding, SigningKey, sign};
use serde_json::{Map, Value};

use super::{
    Failure,
    input::{self, SecretFrom},
    table,
    wire_profile::ProfileFile,
};

/// Print the headers of a signed webhook: as Gancho sends it, or as a sender would.
///
/// Works offline.
#[derive(Debug, Args)]
pub struct Sign {
    #[command(flatten)]
    scheme: SchemeArgs,
    #[command(flatten)]
    profiles: ProfileFile,
    #[command(flatten)]
    secret: SecretFrom,
    /// File with the body, or `-` for standard input.
    #[arg(long, value_name = "FILE", default_value = "-")]
    body_file: PathBuf,
    /// Id of the event or message.
    #[arg(long, default_value = "evt_test")]
    id: String,
    /// Id of the endpoint, for profiles that send it.
    #[arg(long, value_name = "ID", default_value = "wh_test")]
    endpoint: String,
    /// Event type, for profiles that send it.
    #[arg(long = "type", value_name = "TYPE", default_value = "webhook.test")]
    event_type: String,
    /// Id of the key, for senders that name it.
    #[arg(long, value_name = "ID", default_value = "k1")]
    key_id: String,
    /// Time of the signature: seconds since 1970, or 2026-11-15T10:00:00Z. Default: now.
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// How a webhook is signed.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct SchemeArgs {
    /// Wire format of Gancho's deliveries: standard, email-gateway, auracore, saas, svix, convoy or outpost.
    #[arg(long, value_name = "NAME", default_value = "standard")]
    profile: String,
    /// Another sender's way of signing: partner, standard, stripe, github, slack or shopify.
    #[arg(long, value_name = "NAME")]
    sender: Option<String>,
}

/// A profile of ours, or a sender's preset.
pub enum SigningScheme {
    Profile(Box<Profile>),
    Sender(Preset),
}

impl SchemeArgs {
    pub fn read(&self, profiles: &ProfileFile) -> anyhow::Result<SigningScheme> {
        if let Some(name) = &self.sender {
            let preset = serde_json::from_value(Value::from(name.as_str()));
            return preset.map(SigningScheme::Sender).map_err(|_| {
                Failure::usage(format!(
                    "there is no sender `{name}`. hint: partner, standard, stripe, github, slack or shopify"
                ))
            });
        }
        Ok(SigningScheme::Profile(Box::new(profiles.find(&self.profile)?)))
    }
}

impl SigningScheme {
    pub fn recipe(&self) -> anyhow::Result<Recipe> {
        match self {
            Self::Profile(profile) => Recipe::for_profile(profile).context("invalid profile"),
            Self::Sender(preset) => preset.recipe().context("invalid sender"),
        }
    }

    pub fn signing_key(&self, secret: &str) -> anyhow::Result<SigningKey> {
        let key = match self {
            Self::Profile(profile) => SigningKey::for_profile(profile, secret),
            Self::Sender(_) if secret.starts_with("whsk_") => SigningKey::ed25519(secret),
            Self::Sender(preset) => preset.hmac_signing_key(secret, SecretEncoding::Raw),
        };
        key.map_err(|error| Failure::usage(format!("invalid secret: {error}")))
    }
}

impl Sign {
    pub fn run(self) -> anyhow::Result<()> {
        let scheme = self.scheme.read(&self.profiles)?;
        let key = scheme.signing_key(&self.secret.required()?)?;
        let body = input::bytes(&self.body_file)?;
        let at = self.at.as_deref().map_or_else(|| Ok(SystemClock.now()), time)?;
        let headers = match &scheme {
            SigningScheme::Profile(profile) => {
                let sending = AttemptMetadata {
                    event_id: &self.id,
                    endpoint_id: &self.endpoint,
                    event_type: &self.event_type,
                    at,
                    retry: 0,
                };
                let signed = sign(profile, &sending, &body, &[key]);
                let signed = signed.map_err(|error| Failure::usage(error.to_string()))?;
                signed.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            }
            SigningScheme::Sender(_) => {
                let signed = scheme.recipe()?.sign(&key, &self.key_id, at, &self.id, &body);
                signed.map_err(|error| Failure::usage(error.to_string()))?
            }
        };
        print(&headers, self.json)
    }
}

/// Prints the headers as in a request, for `curl -H @-`.
fn print(headers: &[(String, String)], as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let all: Map<String, Value> = headers
            .iter()
            .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
            .collect();
        return table::json(&Value::Object(all));
    }
    headers.iter().try_for_each(|(name, value)| table::say(&format!("{name}: {value}")))
}

/// Parses seconds or milliseconds since 1970, or RFC 3339.
pub fn time(text: &str) -> anyhow::Result<Time> {
    /// Seconds of the year 5138: a larger number is in milliseconds.
    const MAX_SECONDS: i64 = 100_000_000_000;
    if let Ok(number) = text.parse::<i64>() {
        return Ok(if number < MAX_SECONDS {
            Time::from_secs(number)
        } else {
            Time::from_millis(number)
        });
    }
    let parsed = text.parse::<jiff::Timestamp>();
    parsed.map(|time| Time::from_micros(time.as_microsecond())).map_err(|_| {
        Failure::usage(format!("`{text}` is not a time. hint: 1763200000 or 2026-11-15T10:00:00Z"))
    })
}

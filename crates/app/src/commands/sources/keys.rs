//! `gancho sources keys`: the keys that verify what a partner posts.

use clap::{Args, Subcommand};
use data_encoding::{BASE64, HEXLOWER};
use serde_json::{Value, json};

use super::{ShowSource, path, show};
use crate::{
    commands::{
        Failure,
        client::ClientArgs,
        input::{self, Draft, SecretFrom, confirmed},
        table::{self, Facts},
    },
    paint::YELLOW,
    remote::part,
};

#[derive(Debug, Subcommand)]
pub enum Keys {
    /// List the keys of a source, without their secrets.
    List(ShowSource),
    /// Add a key. Without a secret or a public key, an HMAC secret is generated and shown once.
    Add(Add),
    /// Revoke a key immediately.
    Revoke(Revoke),
}

#[derive(Debug, Args)]
pub struct Add {
    /// Name of the partner.
    partner: String,
    /// Id of the key, as the partner sends it in X-Key-Id.
    key_id: String,
    #[command(flatten)]
    secret: SecretFrom,
    /// The partner's Ed25519 public key in base64, instead of a secret.
    #[arg(long, value_name = "BASE64", conflicts_with_all = ["secret_file", "secret_env", "encoding"])]
    public_key: Option<String>,
    /// Encoding of the secret: raw, base64 or hex.
    #[arg(long, value_name = "ENCODING")]
    encoding: Option<String>,
    /// Valid from: a time, e.g. 2026-12-01T00:00:00Z, or a duration from now, e.g. 2h.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Valid until: a time, or a duration from now, e.g. 90d.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Id of the key that this one replaces. The old key expires after the overlap.
    #[arg(long, value_name = "KEY_ID")]
    replaces: Option<String>,
    /// How long the replaced key stays valid. Default: 24h.
    #[arg(long, value_name = "DURATION", requires = "replaces")]
    overlap: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
pub struct Revoke {
    /// Name of the partner.
    partner: String,
    /// Id of the key.
    key_id: String,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    client: ClientArgs,
}

impl Keys {
    pub async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::List(one) => list(&one).await,
            Self::Add(add) => add.run().await,
            Self::Revoke(revoke) => revoke.run().await,
        }
    }
}

async fn list(one: &ShowSource) -> anyhow::Result<()> {
    let remote = one.client.gateway().await?;
    let keys = remote.get(&format!("{}/keys", path(&one.partner))).await?;
    if one.client.json {
        return table::json(&json!({ "data": keys["data"] }));
    }
    show::keys(keys["data"].as_array().map(Vec::as_slice).unwrap_or_default(), &one.partner)
}

impl Add {
    async fn run(self) -> anyhow::Result<()> {
        let input = self.secret.read()?;
        let remote = self.client.gateway().await?;
        let mut made = None;
        let mut draft = Draft::default();
        if let Some(public_key) = &self.public_key {
            draft.put("scheme", "ed25519")?;
            draft.put("publicKey", public_key)?;
        } else {
            let secret = if let Some(input) = input {
                input
            } else if self.encoding.is_some() {
                return Err(Failure::usage(
                    "--encoding requires a secret. hint: pass one with --secret-file or --secret-env",
                ));
            } else {
                let source = remote.get(&path(&self.partner)).await?;
                made.insert(new_secret(&source["preset"])?).clone()
            };
            draft.put("scheme", "hmac")?;
            draft.put("secret", secret)?;
            draft.maybe("encoding", self.encoding.as_ref())?;
        }
        draft.maybe("not_before", self.from.as_deref().map(input::time))?;
        draft.maybe("not_after", self.until.as_deref().map(input::time))?;
        draft.maybe("replaces", self.replaces.as_ref())?;
        draft.maybe("overlap", self.overlap.as_ref())?;
        let at = format!("{}/keys/{}", path(&self.partner), part(&self.key_id));
        let mut key = remote.put(&at, &draft).await?;
        if self.client.json {
            if let Some(secret) = made {
                key["secret"] = secret.into();
            }
            return table::json(&key);
        }
        self.print_key(&key, made.as_deref())
    }

    fn print_key(&self, key: &Value, made: Option<&str>) -> anyhow::Result<()> {
        let window = show::window(key);
        let valid = if window.is_empty() { "from now on" } else { window.as_str() };
        table::say(&format!("Key {} of {} is valid {valid}.", self.key_id, self.partner))?;
        if let Some(old) = &self.replaces {
            let overlap = self.overlap.as_deref().unwrap_or("24h");
            table::say(&format!("Key {old} expires in {overlap}."))?;
        }
        if let Some(secret) = made {
            Facts::default().add("secret", secret).print()?;
            table::say(&format!(
                "{YELLOW}The secret is shown only once.{YELLOW:#} Give it to the partner."
            ))?;
        }
        Ok(())
    }
}

/// Generates a secret of 256 random bits, in the format that the sender's libraries expect.
fn new_secret(preset: &Value) -> anyhow::Result<String> {
    let secret = gancho_wire::new_secret()?;
    if preset == "standard" {
        return Ok(secret);
    }
    let encoded = secret.strip_prefix("whsec_").unwrap_or(&secret);
    Ok(HEXLOWER.encode(&BASE64.decode(encoded.as_bytes())?))
}

impl Revoke {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let question = format!(
            "Revoke key {} of {}? Requests signed with it will be rejected.",
            self.key_id, self.partner
        );
        confirmed(&question, self.yes)?;
        remote.delete(&format!("{}/keys/{}", path(&self.partner), part(&self.key_id))).await?;
        if self.client.json {
            return table::json(&json!({ "revoked": self.key_id }));
        }
        table::say(&format!("Revoked key {} of {}.", self.key_id, self.partner))
    }
}

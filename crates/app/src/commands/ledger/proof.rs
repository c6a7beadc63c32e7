//! The format of a proof, and `gancho ledger check-proof`, which needs only the proof.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use gancho_inbound::{PublicKey, checkpoints::PROOF_FORM as FORM, receive::identity::body_sha256};
use gancho_ledger::{Checkpoint, Hash, InclusionProof, chain};
use serde_json::{Value, json};

use super::book::keys_of;
use crate::{
    commands::{
        Failure, input,
        table::{self, Facts, count, text},
    },
    paint::{DIM, GREEN, YELLOW},
};

pub struct Proof {
    /// The line's text.
    pub entry: String,
    pub inclusion: InclusionProof,
    /// The signed checkpoint.
    pub note: String,
    pub key: PublicKey,
}

impl Proof {
    pub fn json(&self) -> Value {
        let path = self.inclusion.path.iter().map(Hash::base64).collect::<Vec<_>>();
        json!({
            "form": FORM,
            "line": { "number": self.inclusion.number, "entry": self.entry },
            "inclusion": { "size": self.inclusion.size, "path": path },
            "checkpoint": self.note,
            "key": self.key.jwk(),
        })
    }

    fn read(proof: &Value) -> anyhow::Result<Self> {
        if proof["form"] != FORM {
            bail!("not a proof of the format {FORM}");
        }
        let number = |value: &Value, what: &str| {
            value.as_u64().with_context(|| format!("the proof has no {what}"))
        };
        let string = |value: &Value, what: &str| {
            value.as_str().map(str::to_owned).with_context(|| format!("the proof has no {what}"))
        };
        let path = proof["inclusion"]["path"].as_array().context("the proof has no path")?;
        let path = path.iter().map(|hash| Hash::from_base64(hash.as_str()?)).collect::<Option<_>>();
        Ok(Self {
            entry: string(&proof["line"]["entry"], "line")?,
            inclusion: InclusionProof {
                number: number(&proof["line"]["number"], "line number")?,
                size: number(&proof["inclusion"]["size"], "size")?,
                path: path.context("the proof's path contains an invalid hash")?,
            },
            note: string(&proof["checkpoint"], "checkpoint")?,
            key: PublicKey::from_jwk(&proof["key"]).context("the proof has no Ed25519 key")?,
        })
    }

    /// Returns the checkpoint that covers the line, or why the proof is invalid.
    fn check(&self) -> Result<Checkpoint, String> {
        let checkpoint = self.key.verifier().open(&self.note).map_err(|why| why.to_string())?;
        if checkpoint.size != self.inclusion.size {
            return Err(
                "the path belongs to a ledger of another size than the checkpoint".to_owned()
            );
        }
        let leaf = chain::leaf(self.inclusion.number, self.entry.as_bytes());
        if self.inclusion.root(leaf) != Some(checkpoint.root) {
            return Err("the line is not in the ledger that the checkpoint signs".to_owned());
        }
        Ok(checkpoint)
    }
}

#[derive(Debug, Args)]
pub struct CheckProof {
    /// File with the proof, or `-` for standard input.
    file: PathBuf,
    /// File with the gateway's public keys, a copy of /.well-known/jwks.json. Default: the key in the proof,
    /// which shows only that its holder signed.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// File with the body that was posted. It must be identical to the one that the ledger line records.
    #[arg(long, value_name = "FILE")]
    body: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl CheckProof {
    pub fn run(self) -> anyhow::Result<()> {
        let read = serde_json::from_str(input::json(&self.file)?.get())?;
        let proof = Proof::read(&read)?;
        let entry: Value = serde_json::from_str(&proof.entry).unwrap_or_default();
        let checked = self.check(&proof, &entry);
        if self.json {
            table::json(&json!({
                "proves": checked.is_ok(),
                "receipt": entry["receipt"],
                "line": proof.inclusion.number,
                "size": proof.inclusion.size,
                "key": proof.key.kid(),
                "what": checked.as_ref().err().map(ToString::to_string),
            }))?;
        }
        let checkpoint = checked?;
        if self.json { Ok(()) } else { self.print_proof(&proof, &entry, &checkpoint) }
    }

    fn check(&self, proof: &Proof, entry: &Value) -> anyhow::Result<Checkpoint> {
        let nothing = |why: &str| Failure::does_not_hold(format!("invalid proof: {why}"));
        if let Some(path) = &self.keys
            && !keys_of(path)?.contains(&proof.key)
        {
            return Err(nothing("it is signed with a key that is not in the given key set"));
        }
        let checkpoint = proof.check().map_err(|why| nothing(&why))?;
        if let Some(path) = &self.body {
            let body =
                std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            if entry["body_sha256"] != body_sha256(&body) {
                return Err(nothing("the body is not the one that was received"));
            }
        }
        Ok(checkpoint)
    }

    fn print_proof(
        &self,
        proof: &Proof,
        entry: &Value,
        checkpoint: &Checkpoint,
    ) -> anyhow::Result<()> {
        table::say(&format!("{GREEN}Valid proof{GREEN:#} of receipt:"))?;
        let (number, size) = (proof.inclusion.number, proof.inclusion.size);
        Facts::default()
            .add("receipt", text(&entry["receipt"]))
            .add("partner", text(&entry["partner"]))
            .add("event id", text(&entry["event_id"]))
            .add("received", text(&entry["at"]))
            .add(
                "test",
                if entry["test"] == true { "simulated, not sent by the partner" } else { "" },
            )
            .add("body", if self.body.is_some() { "identical to the given file" } else { "" })
            .add("sha256", text(&entry["body_sha256"]))
            .add("line", format!("{} of {}", count(number), count(size)))
            .add("signed", format!("{}, {}", checkpoint.made_at, checkpoint.origin))
            .add("key", proof.key.kid())
            .print()?;
        if self.keys.is_none() {
            table::say(&format!(
                "{YELLOW}note:{YELLOW:#} the key comes from the proof itself. {DIM}Compare it with the gateway's /.well-known/jwks.json, or pass a copy with --keys.{DIM:#}"
            ))?;
        }
        Ok(())
    }
}

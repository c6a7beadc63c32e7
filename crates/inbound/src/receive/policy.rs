//! The policy as data: conditions (bits), rules (wires) and outcomes. The decision is a pure function of
//! the pack and the bits; the hash of the pack identifies it.
//!
//! No pack can allow unverified webhooks: such a pack is refused.

use std::{fs, io, path::PathBuf, sync::Arc};

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;
use parking_lot::RwLock;
use serde::Deserialize;
use thiserror::Error;

pub const VERIFIED: &str = "P_Webhook_Verified";
pub const RATE_OK: &str = "P_Rate_Bucket_OK";
pub const ALLOW: &str = "allow_webhook";
pub const DENY: &str = "deny_invalid_access";

/// The built-in pack.
pub const BUILT_IN: &str = r#"{
  "version": 1,
  "bits": ["P_Webhook_Verified", "P_Rate_Bucket_OK"],
  "wires": [
    {"name": "W_Webhook_Trusted", "when": ["P_Webhook_Verified", "P_Rate_Bucket_OK"], "then": "allow_webhook"}
  ],
  "else": "deny_invalid_access"
}
"#;

/// The conditions of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyInput {
    pub verified: bool,
    pub rate_ok: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Deny,
}

/// A validated pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pack {
    wires: Vec<PolicyRule>,
    hash: Box<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyRule {
    name: String,
    when: Vec<String>,
    then: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PackDocument {
    version: u32,
    bits: Vec<String>,
    wires: Vec<PolicyRule>,
    r#else: String,
}

#[derive(Debug, Error)]
pub enum PolicyError {
    #[error("invalid policy pack: {0}")]
    Form(String),
    #[error("unsupported policy pack version {0}: use version 1")]
    Version(u32),
    #[error("unknown bit `{0}`: use {VERIFIED} and {RATE_OK}")]
    Bit(String),
    #[error("the wire `{0}` would allow unverified webhooks: add {VERIFIED} to its `when`")]
    Open(String),
    #[error("unknown outcome `{0}`: use {ALLOW} or {DENY}, and {DENY} for `else`")]
    Then(String),
    #[error("cannot read the policy pack {0}: {1}")]
    File(PathBuf, io::Error),
}

impl Pack {
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let read: PackDocument =
            serde_json::from_str(text).map_err(|error| PolicyError::Form(error.to_string()))?;
        if read.version != 1 {
            return Err(PolicyError::Version(read.version));
        }
        let named = read.bits.iter().chain(read.wires.iter().flat_map(|wire| &wire.when));
        if let Some(invalid) =
            named.into_iter().find(|bit| ![VERIFIED, RATE_OK].contains(&bit.as_str()))
        {
            return Err(PolicyError::Bit(invalid.clone()));
        }
        if read.r#else != DENY {
            return Err(PolicyError::Then(read.r#else));
        }
        for wire in &read.wires {
            if ![ALLOW, DENY].contains(&wire.then.as_str()) {
                return Err(PolicyError::Then(wire.then.clone()));
            }
            if wire.then == ALLOW && !wire.when.iter().any(|bit| bit == VERIFIED) {
                return Err(PolicyError::Open(wire.name.clone()));
            }
        }
        let hash = HEXLOWER.encode(digest(&SHA256, text.as_bytes()).as_ref()).into();
        Ok(Self { wires: read.wires, hash })
    }

    /// Returns the SHA-256 of its text, in hex.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Decides by the first wire whose bits are all set. If there is none, the request is denied.
    pub fn decide(&self, bits: PolicyInput) -> Decision {
        let is_set = |bit: &String| match bit.as_str() {
            VERIFIED => bits.verified,
            RATE_OK => bits.rate_ok,
            _ => false,
        };
        match self.wires.iter().find(|wire| wire.when.iter().all(is_set)) {
            Some(wire) if wire.then == ALLOW && bits.verified => Decision::Allow,
            _ => Decision::Deny,
        }
    }
}

/// The active policy pack, which can be reloaded while requests arrive.
pub struct PolicyService {
    path: Option<PathBuf>,
    pack: RwLock<Arc<Pack>>,
}

impl PolicyService {
    /// Reads the pack from a file, or uses the built-in one.
    pub fn open(path: Option<PathBuf>) -> Result<Self, PolicyError> {
        let pack = RwLock::new(Arc::new(read(path.as_ref())?));
        Ok(Self { path, pack })
    }

    pub fn pack(&self) -> Arc<Pack> {
        self.pack.read().clone()
    }

    /// Reloads the pack. An invalid one changes nothing.
    pub fn reload(&self) -> Result<Arc<Pack>, PolicyError> {
        let pack = Arc::new(read(self.path.as_ref())?);
        *self.pack.write() = pack.clone();
        tracing::info!(hash = pack.hash(), "policy pack reloaded");
        Ok(pack)
    }
}

fn read(path: Option<&PathBuf>) -> Result<Pack, PolicyError> {
    match path {
        None => Pack::parse(BUILT_IN),
        Some(path) => {
            let text =
                fs::read_to_string(path).map_err(|error| PolicyError::File(path.clone(), error))?;
            Pack::parse(&text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_pack_wants_both_bits() {
        let pack = Pack::parse(BUILT_IN).unwrap();
        for (verified, rate_ok, decision) in [
            (true, true, Decision::Allow),
            (true, false, Decision::Deny),
            (false, true, Decision::Deny),
            (false, false, Decision::Deny),
        ] {
            assert_eq!(pack.decide(PolicyInput { verified, rate_ok }), decision);
        }
        assert_eq!(pack.hash().len(), 64);
    }

    /// No policy accepts a request whose signature is not verified.
    #[test]
    fn no_pack_lets_the_unverified_pass() {
        let open = BUILT_IN.replace(
            r#""when": ["P_Webhook_Verified", "P_Rate_Bucket_OK"]"#,
            r#""when": ["P_Rate_Bucket_OK"]"#,
        );
        assert!(matches!(Pack::parse(&open), Err(PolicyError::Open(_))));
        let always = BUILT_IN
            .replace(r#""when": ["P_Webhook_Verified", "P_Rate_Bucket_OK"]"#, r#""when": []"#);
        assert!(matches!(Pack::parse(&always), Err(PolicyError::Open(_))));
        let other =
            BUILT_IN.replace(r#""else": "deny_invalid_access""#, r#""else": "allow_webhook""#);
        assert!(matches!(Pack::parse(&other), Err(PolicyError::Then(_))));
        assert!(matches!(
            Pack::parse(&BUILT_IN.replace("P_Rate", "P_Rats")),
            Err(PolicyError::Bit(_))
        ));
        assert!(matches!(Pack::parse("{}"), Err(PolicyError::Form(_))));
    }

    #[test]
    fn a_pack_can_be_reloaded_and_a_faulty_one_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pack.json");
        fs::write(&path, BUILT_IN).unwrap();
        let service = PolicyService::open(Some(path.clone())).unwrap();
        let first = service.pack().hash().to_owned();
        let closed = r#"{"version":1,"bits":[],"wires":[],"else":"deny_invalid_access"}"#;
        fs::write(&path, closed).unwrap();
        assert_ne!(service.reload().unwrap().hash(), first);
        assert_eq!(
            service.pack().decide(PolicyInput { verified: true, rate_ok: true }),
            Decision::Deny
        );
        let second = service.pack().hash().to_owned();
        fs::write(&path, "nonsense").unwrap();
        assert!(service.reload().is_err());
        assert_eq!(service.pack().hash(), second);
    }
}

//! A prepared source: keys ready for verification, schema compiled, targets parsed.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gancho_domain::{EndpointId, FieldError, Gcra, Rate, RetryPlan, Time};
use gancho_engine::{CheckThreads, run_inline};
use gancho_schema::{Schema, SchemaCheckError};
use gancho_store::Account;
use gancho_vault::KeyRing;
use gancho_wire::{Profile, Recipe, SigningKey, Token, VerifyingKey, strict_json::Pointer};
use parking_lot::Mutex;
use url::Url;

use crate::{
    Source, SourceDefaults, SourceKey,
    internal_target::InternalTarget,
    preset::{Preset, Proof},
    sns::Topics,
    source::KeyScheme,
    sources::seal,
};

pub struct PreparedSource {
    pub source: Source,
    pub preset: Preset,
    pub proving: ProofKeys,
    pub keys: Vec<PreparedKey>,
    pub schema: Option<Schema>,
    pub event_id: Option<Pointer>,
    pub targets: Vec<Target>,
    pub plan: Arc<RetryPlan>,
    pub rate: Option<Rate>,
    /// The key that signs dispatched requests.
    pub dispatch_keys: [SigningKey; 1],
    /// The verify token of Meta's handshake.
    pub verify_token: Option<Token>,
    checks: Arc<CheckThreads>,
    /// The documents of the source and of each key, in order, to detect what has changed.
    pub(super) made_of: Vec<Bytes>,
}

/// The keys in the form that the proof needs, in the order of [`PreparedSource::keys`].
pub enum ProofKeys {
    Signature {
        recipe: Box<Recipe>,
        keys: Vec<VerifyingKey>,
    },
    HeaderToken {
        header: String,
        tokens: Vec<Token>,
    },
    ClientState {
        tokens: Vec<Token>,
    },
    /// The key is Amazon's, represented by `sns` in [`PreparedSource::keys`].
    Sns(Topics),
}

/// The key id of webhooks that were signed with Amazon's key.
const SNS: &str = "sns";

pub struct PreparedKey {
    pub key: SourceKey,
    /// How much of the rate is used. A change of the source resets it.
    used: Mutex<Gcra>,
}

impl PreparedKey {
    /// Takes a slot of the rate limit, or returns how long to wait.
    pub fn take(&self, rate: Rate, now: Time) -> Result<(), Duration> {
        let mut used = self.used.lock();
        let free = used.free_at(rate, now);
        if free > now {
            return Err(free.since(now));
        }
        used.take(rate, now);
        Ok(())
    }
}

pub struct Target {
    pub id: EndpointId,
    pub to: TargetAddress,
}

pub enum TargetAddress {
    Url(Url),
    InternalSink(InternalTarget),
}

impl PreparedSource {
    pub(crate) fn prepare(
        source: Source,
        keys: Vec<SourceKey>,
        made_of: Vec<Bytes>,
        ring: &KeyRing,
        defaults: &SourceDefaults,
        checks: &Arc<CheckThreads>,
    ) -> Result<Self, String> {
        let preset = source.preset();
        let proof = preset.proof().map_err(|error| error.to_string())?;
        let proving = proving(&source, &preset, proof, &keys, ring)?;
        let schema = source.schema.as_ref().map(|text| Schema::compile(text.get()));
        let schema = schema.transpose().map_err(|error| error.to_string())?;
        let pointer = source.event_id_pointer.as_deref().or(preset.event_id_pointer());
        let targets = source.targets.iter().map(|target| {
            let to = match InternalTarget::named(&target.url) {
                Some(internal_target) => TargetAddress::InternalSink(internal_target?),
                None => TargetAddress::Url(
                    target.url.parse().map_err(|error: url::ParseError| error.to_string())?,
                ),
            };
            Ok(Target { id: target.id, to })
        });
        let secret = seal::dispatch_secret(ring, &source)?;
        let signing = SigningKey::for_profile(&Profile::standard(), &secret);
        let verify_token = seal::verify_token(ring, &source)?;
        let verify_token = verify_token.map(|token| Token::new(&token)).transpose();
        let keys = match proving {
            ProofKeys::Sns(_) => {
                let since = source.created_at();
                vec![SourceKey::new(SNS, KeyScheme::Certificate, "raw", since)]
            }
            _ => keys,
        };
        Ok(Self {
            targets: targets.collect::<Result<_, String>>()?,
            proving,
            schema,
            event_id: pointer.and_then(Pointer::parse),
            plan: source.retry().map_or_else(|| defaults.plan.clone(), Arc::new),
            rate: source.rate(),
            dispatch_keys: [signing.map_err(|error| error.to_string())?],
            verify_token: verify_token.map_err(|error| error.to_string())?,
            keys: keys.into_iter().map(|key| PreparedKey { key, used: Mutex::default() }).collect(),
            preset,
            source,
            checks: checks.clone(),
            made_of,
        })
    }

    /// Returns the schema errors, with pointers into the body.
    pub async fn schema_errors(
        self: &Arc<Self>,
        body: &Bytes,
    ) -> Result<Vec<FieldError>, SchemaCheckError> {
        let Some(schema) = &self.schema else { return Ok(Vec::new()) };
        if schema.inline_work(body).is_some()
            && run_inline(|| schema.is_valid(body)).map_err(|_| SchemaCheckError)?
        {
            return Ok(Vec::new());
        }
        let (source, body) = (self.clone(), body.clone());
        let check = move || source.schema.as_ref().map(|schema| schema.errors(&body));
        let account = Account::Tenant(self.source.tenant());
        let errors = self.checks.run(account, check).await.map_err(|_| SchemaCheckError)?;
        Ok(errors.into_iter().flatten().map(into_body).collect())
    }

    /// Returns where a delivery to this target goes now: see [`Source::destination`].
    pub fn destination(&self, id: EndpointId, is_replay: bool) -> Option<&Target> {
        self.source.destination(id, is_replay).and_then(|place| self.targets.get(place))
    }
}

/// Moves a pointer into an event's data, which is what the validator reports, to the whole body.
fn into_body(error: FieldError) -> FieldError {
    match error.pointer.strip_prefix("/data") {
        Some(within) => FieldError { pointer: within.to_owned(), ..error },
        None => error,
    }
}

fn proving(
    source: &Source,
    preset: &Preset,
    proof: Proof,
    keys: &[SourceKey],
    ring: &KeyRing,
) -> Result<ProofKeys, String> {
    let tokens = || -> Result<Vec<Token>, String> {
        let token = |key: &SourceKey| {
            let secret = seal::key_secret(ring, source, key)?;
            Token::new(&secret).map_err(|error| error.to_string())
        };
        keys.iter().map(token).collect()
    };
    Ok(match (proof, preset.signed()) {
        (Proof::Signature(recipe), Some(signed)) => {
            let prepared = |key: &SourceKey| {
                let key = if let (KeyScheme::Ed25519, Some(public)) = (key.scheme, &key.public_key)
                {
                    signed.ed25519_key(public)
                } else {
                    let secret = seal::key_secret(ring, source, key)?;
                    signed.hmac_key(&secret, seal::encoding(key))
                };
                key.map_err(|error| error.to_string())
            };
            let keys = keys.iter().map(prepared).collect::<Result<_, String>>()?;
            ProofKeys::Signature { recipe, keys }
        }
        (Proof::Sns(topics), _) => ProofKeys::Sns(Topics::new(topics)),
        (Proof::HeaderToken(header), _) => ProofKeys::HeaderToken { header, tokens: tokens()? },
        (Proof::ClientState | Proof::Signature(_), _) => {
            ProofKeys::ClientState { tokens: tokens()? }
        }
    })
}

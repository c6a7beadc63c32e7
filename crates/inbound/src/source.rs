//! A source and its keys, in their stored form, in which secrets are encrypted.

use std::time::Duration;

use gancho_domain::{EndpointId, Rate, RetryPlan, SourceId, TenantId, TenantScope, Time};
use gancho_store::{Collection, retry_plan_codec};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Partner, preset::Preset};

/// The collections of the documents.
pub const SOURCES: &str = "source";
pub const SOURCE_KEYS: &str = "source_key";

pub(crate) const ON_SOURCES: Collection = Collection::operators(SOURCES);
pub(crate) const ON_KEYS: Collection = Collection::operators(SOURCE_KEYS);
/// The names of deleted sources, by their tenant ids: their receipts are still shown.
pub(crate) const ON_DELETED: Collection = Collection::operators("source_deleted");

/// The default target of receipts.
pub const DEFAULT_TARGET: &str = "http://127.0.0.1:9458/core/hooks/ingest";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Source {
    #[serde(with = "as_text")]
    pub id: SourceId,
    #[serde(with = "as_text")]
    pub partner: Partner,
    pub is_active: bool,
    /// The preset as the operator wrote it, to be shown unchanged.
    preset: Box<RawValue>,
    pub targets: Vec<DispatchTarget>,
    /// Targets that were removed, newest last. A target whose URL is added again keeps its id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) retired_targets: Vec<DispatchTarget>,
    pub schema: Option<Box<RawValue>>,
    rate: Option<RateDocument>,
    pub event_id_pointer: Option<String>,
    retry: Option<String>,
    /// Base64 of the encrypted secret that signs dispatched requests.
    pub(crate) sealed_dispatch_secret: String,
    /// Base64 of the encrypted token of Meta's handshake.
    pub(crate) sealed_verify_token: Option<String>,
    created_at: i64,
    updated_at: i64,
}

/// One target for the receipts of a source. The id outlives the URL: a delivery names the id, so a changed
/// URL applies to deliveries that wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DispatchTarget {
    #[serde(with = "as_text")]
    pub id: EndpointId,
    pub url: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct RateDocument {
    count: u32,
    per_micros: u64,
}

impl Source {
    /// Returns a new source without any settings.
    pub(crate) fn blank(id: SourceId, partner: Partner, now: Time) -> Self {
        let preset = RawValue::from_string(r#""partner""#.to_owned()).unwrap_or_default();
        Self {
            id,
            partner,
            is_active: true,
            preset,
            targets: Vec::new(),
            retired_targets: Vec::new(),
            schema: None,
            rate: None,
            event_id_pointer: None,
            retry: None,
            sealed_dispatch_secret: String::new(),
            sealed_verify_token: None,
            created_at: now.micros(),
            updated_at: now.micros(),
        }
    }

    /// Returns the source's own tenant in the stores: its receipts are deduplicated, scheduled and listed
    /// like those of any tenant.
    pub fn scope(&self) -> TenantScope {
        TenantScope::internal(self.tenant())
    }

    pub fn tenant(&self) -> TenantId {
        TenantId::from_bits(self.id.bits())
    }

    /// The index of the target that a delivery goes to now. If its target was removed, it goes to the target that
    /// has the same URL now; a replay without such a target goes to the first.
    pub fn destination(&self, id: EndpointId, is_replay: bool) -> Option<usize> {
        let by_id = self.targets.iter().position(|target| target.id == id);
        let by_url = || {
            let retired = self.retired_targets.iter().find(|target| target.id == id)?;
            self.targets.iter().position(|target| target.url == retired.url)
        };
        let first = || (is_replay && !self.targets.is_empty()).then_some(0);
        by_id.or_else(by_url).or_else(first)
    }

    /// Returns the URL of that target.
    pub fn destination_url(&self, id: EndpointId, is_replay: bool) -> Option<&str> {
        let place = self.destination(id, is_replay)?;
        self.targets.get(place).map(|target| target.url.as_str())
    }

    pub fn preset(&self) -> Preset {
        // The preset was validated when it was saved.
        serde_json::from_str(self.preset.get()).unwrap_or_default()
    }

    pub fn preset_text(&self) -> &RawValue {
        &self.preset
    }

    pub(crate) fn set_preset(&mut self, preset: Box<RawValue>) {
        self.preset = preset;
    }

    /// Returns how many requests each key may make.
    pub fn rate(&self) -> Option<Rate> {
        let rate = self.rate?;
        Some(Rate { count: rate.count, per: Duration::from_micros(rate.per_micros) })
    }

    pub(crate) fn set_rate(&mut self, rate: Option<Rate>) {
        let kept = |rate: Rate| RateDocument {
            count: rate.count,
            per_micros: rate.per.as_micros() as u64,
        };
        self.rate = rate.map(kept);
    }

    pub fn retry(&self) -> Option<RetryPlan> {
        self.retry.as_deref().and_then(|text| retry_plan_codec::read(text).ok())
    }

    pub(crate) fn set_retry(&mut self, plan: Option<&RetryPlan>) {
        self.retry = plan.map(retry_plan_codec::write);
    }

    pub fn has_verify_token(&self) -> bool {
        self.sealed_verify_token.is_some()
    }

    pub fn created_at(&self) -> Time {
        Time::from_micros(self.created_at)
    }

    pub fn updated_at(&self) -> Time {
        Time::from_micros(self.updated_at)
    }

    pub(crate) fn touch(&mut self, now: Time) {
        self.updated_at = now.micros();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyScheme {
    Hmac,
    Ed25519,
    /// The sender's own key, fetched when it is needed and never stored.
    Certificate,
}

impl KeyScheme {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hmac => "hmac",
            Self::Ed25519 => "ed25519",
            Self::Certificate => "certificate",
        }
    }
}

/// A key of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceKey {
    pub key_id: String,
    pub scheme: KeyScheme,
    /// How the secret's text is decoded: `raw`, `base64` or `hex`.
    pub encoding: String,
    /// Base64 of the encrypted secret; `None` for a public key.
    pub(crate) sealed: Option<String>,
    pub public_key: Option<String>,
    not_before: Option<i64>,
    not_after: Option<i64>,
    created_at: i64,
    /// The id of the key's source. Keys from before this was stored have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

impl SourceKey {
    pub(crate) fn new(key_id: &str, scheme: KeyScheme, encoding: &str, now: Time) -> Self {
        Self {
            key_id: key_id.to_owned(),
            scheme,
            encoding: encoding.to_owned(),
            sealed: None,
            public_key: None,
            not_before: None,
            not_after: None,
            created_at: now.micros(),
            source: None,
        }
    }

    pub(crate) fn give_to(&mut self, source: &Source) {
        self.source = Some(source.id.to_string());
    }

    /// Whether the key belongs to this source. A key that a deleted source of the same name has left does
    /// not.
    pub(crate) fn is_of(&self, source: &Source) -> bool {
        self.source.as_ref().is_none_or(|id| *id == source.id.to_string())
    }

    pub(crate) fn set_window(&mut self, not_before: Option<Time>, not_after: Option<Time>) {
        self.not_before = not_before.map(Time::micros);
        self.not_after = not_after.map(Time::micros);
    }

    pub fn not_before(&self) -> Option<Time> {
        self.not_before.map(Time::from_micros)
    }

    pub fn not_after(&self) -> Option<Time> {
        self.not_after.map(Time::from_micros)
    }

    pub fn created_at(&self) -> Time {
        Time::from_micros(self.created_at)
    }

    /// Whether the key is valid: from `not_before` until just before `not_after`.
    pub fn is_valid_at(&self, now: Time) -> bool {
        self.not_before().is_none_or(|begin| begin <= now)
            && self.not_after().is_none_or(|end| now < end)
    }
}

/// Returns the document key of a source's key. Neither part can contain a `/`.
pub(crate) fn document_key(partner: &Partner, key_id: &str) -> String {
    format!("{partner}/{key_id}")
}

/// Serializes ids and names as text.
mod as_text {
    use std::{fmt::Display, str::FromStr};

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_kept_as_it_is() {
        let now = Time::from_secs(1_000);
        let mut source = Source::blank(SourceId::from_bits(7), "acme".parse().unwrap(), now);
        source.set_rate(Some(Rate { count: 5, per: Duration::from_secs(1) }));
        source.set_retry(Some(&RetryPlan::DISPATCH));
        source.set_preset(RawValue::from_string(r#"{"token":{"header":"X"}}"#.into()).unwrap());
        source.schema = Some(RawValue::from_string(r#"{"type": "object"}"#.into()).unwrap());
        let target = DispatchTarget { id: EndpointId::from_bits(9), url: DEFAULT_TARGET.into() };
        source.targets.push(target.clone());
        let text = serde_json::to_vec(&source).unwrap();
        let read: Source = serde_json::from_slice(&text).unwrap();
        assert_eq!(read.rate(), source.rate());
        assert_eq!(read.retry(), Some(RetryPlan::DISPATCH));
        assert_eq!(read.preset(), source.preset());
        assert_eq!(
            (read.id, read.partner.as_str(), &read.targets[0]),
            (source.id, "acme", &target)
        );
        assert_eq!(read.schema.unwrap().get(), r#"{"type": "object"}"#);
    }

    #[test]
    fn a_key_is_valid_within_its_window() {
        let at = Time::from_secs;
        let mut key = SourceKey::new("k1", KeyScheme::Hmac, "raw", at(0));
        assert!(key.is_valid_at(at(5)));
        key.set_window(Some(at(10)), Some(at(20)));
        for (now, valid) in [(9, false), (10, true), (19, true), (20, false), (21, false)] {
            assert_eq!(key.is_valid_at(at(now)), valid, "{now}");
        }
    }
}

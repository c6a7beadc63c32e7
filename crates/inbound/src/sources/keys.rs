//! A source's keys. There may be several, each with its own period of validity, so that an old and a new one
//! overlap.

use std::time::Duration;

use gancho_domain::{FieldError, Time, span};
use gancho_store::{Document, Precondition};

use super::{KeyDraft, MAX_KEYS, SourceError, SourceService, TRIES, seal};
use crate::{
    Partner, Source, SourceKey,
    registry::{body, parse_document},
    source::{KeyScheme, ON_KEYS, document_key},
};

/// How long a replaced key stays valid by default.
const DEFAULT_OVERLAP: Duration = Duration::from_hours(24);
const MAX_OVERLAP: Duration = Duration::from_hours(30 * 24);

impl SourceService {
    /// Creates a key, or replaces the one with the same id.
    pub async fn put_key(
        &self,
        partner: &Partner,
        key_id: &str,
        draft: KeyDraft,
    ) -> Result<SourceKey, SourceError> {
        let source = self.get(partner).await?;
        let key = self.checked_key(&source, key_id, &draft)?;
        let overlap = overlap(&draft)?;
        let documents = self.key_documents(partner).await?;
        let is_new = documents.iter().all(|document| document.key != document_key(partner, key_id));
        if is_new && documents.len() >= MAX_KEYS {
            return Err(SourceError::TooMany { max: MAX_KEYS });
        }
        // The new key is written before the old one gets an end, so that there is always a valid one.
        self.write_key(partner, &key, Precondition::Anything).await?;
        if let Some(old) = &draft.replaces {
            self.end_key(partner, old, self.clock.now() + overlap).await?;
        }
        Ok(key)
    }

    pub async fn keys(&self, partner: &Partner) -> Result<Vec<SourceKey>, SourceError> {
        let source = self.get(partner).await?;
        let documents = self.key_documents(partner).await?;
        let mut keys: Vec<SourceKey> =
            documents.iter().map(parse_document).collect::<Result<_, _>>()?;
        keys.retain(|key| key.is_of(&source));
        Ok(keys)
    }

    pub async fn delete_key(&self, partner: &Partner, key_id: &str) -> Result<(), SourceError> {
        let key = document_key(partner, key_id);
        let was_there = self.store.delete_document(ON_KEYS, &key).await?;
        self.sources.forget();
        if was_there { Ok(()) } else { Err(SourceError::NotFound) }
    }

    pub(super) async fn key_documents(
        &self,
        partner: &Partner,
    ) -> Result<Vec<Document>, SourceError> {
        let prefix = document_key(partner, "");
        // `/` sorts before every character that a name can have, so the keys of one partner are adjacent.
        let documents = self.store.documents(ON_KEYS, Some(&prefix), MAX_KEYS + 1).await?;
        Ok(documents.into_iter().filter(|document| document.key.starts_with(&prefix)).collect())
    }

    async fn end_key(&self, partner: &Partner, key_id: &str, end: Time) -> Result<(), SourceError> {
        for _ in 0..TRIES {
            let name = document_key(partner, key_id);
            let document = self.store.document(ON_KEYS, &name).await?;
            let document = document.ok_or(SourceError::NotFound)?;
            let mut key: SourceKey = parse_document(&document)?;
            // An earlier end that was set before stays.
            let end = key.not_after().map_or(end, |set| set.min(end));
            key.set_window(key.not_before(), Some(end));
            if self.write_key(partner, &key, Precondition::Version(document.version)).await? {
                return Ok(());
            }
        }
        Err(SourceError::Busy)
    }

    async fn write_key(
        &self,
        partner: &Partner,
        key: &SourceKey,
        expect: Precondition,
    ) -> Result<bool, SourceError> {
        let name = document_key(partner, &key.key_id);
        let written = self.store.put_document(ON_KEYS, &name, body(key)?, expect).await?;
        self.sources.forget();
        Ok(written.is_some())
    }

    fn checked_key(
        &self,
        source: &Source,
        key_id: &str,
        draft: &KeyDraft,
    ) -> Result<SourceKey, SourceError> {
        let mut errors = Vec::new();
        let preset = source.preset();
        if !preset.has_keys() {
            let message = "this source has no keys: SNS messages are signed with Amazon's keys";
            return Err(SourceError::Faulty(vec![FieldError::new(
                "keys_unused",
                "/scheme",
                message,
            )]));
        }
        if !is_key_id(key_id) {
            let message =
                "a key id must have 1 to 128 characters of A-Z, a-z, 0-9, `_`, `-` and `.`";
            errors.push(FieldError::new("key_id_malformed", "/key_id", message));
        }
        if draft.algo.as_deref().is_some_and(|algo| !algo.eq_ignore_ascii_case("sha256")) {
            errors.push(FieldError::new("algo_unknown", "/algo", "must be `sha256`"));
        }
        if let (Some(begin), Some(end)) = (draft.not_before, draft.not_after)
            && end <= begin
        {
            let message = "must be after `not_before`";
            errors.push(FieldError::new("out_of_range", "/not_after", message));
        }
        let encoding = draft.encoding.as_deref().unwrap_or("raw");
        if !["raw", "base64", "hex"].contains(&encoding) {
            let message = "must be `raw`, `base64` or `hex`";
            errors.push(FieldError::new("encoding_unknown", "/encoding", message));
        }
        let now = self.clock.now();
        let key = match (draft.scheme.as_deref(), &draft.secret, &draft.public_key) {
            (Some("hmac"), Some(secret), None) => {
                let mut key = SourceKey::new(key_id, KeyScheme::Hmac, encoding, now);
                if let Err(error) = preset.check_secret(secret, seal::encoding(&key)) {
                    errors.push(FieldError::new("secret_refused", "/secret", error.with_hint()));
                }
                seal::seal_key(&self.ring, source, &mut key, secret).map_err(SourceError::Vault)?;
                key
            }
            (Some("ed25519"), None, Some(public_key)) => {
                let mut key = SourceKey::new(key_id, KeyScheme::Ed25519, "base64", now);
                if let Err(error) = preset.check_public_key(public_key) {
                    errors.push(FieldError::new("key_refused", "/publicKey", error.with_hint()));
                }
                key.public_key = Some(public_key.clone());
                key
            }
            (scheme, _, _) => {
                errors.push(misfit(scheme));
                return Err(SourceError::Faulty(errors));
            }
        };
        if !errors.is_empty() {
            return Err(SourceError::Faulty(errors));
        }
        let mut key = key;
        key.set_window(draft.not_before, draft.not_after);
        key.give_to(source);
        Ok(key)
    }
}

fn misfit(scheme: Option<&str>) -> FieldError {
    match scheme {
        None => FieldError::missing("scheme", "must be `hmac` or `ed25519`"),
        Some("hmac") => FieldError::new(
            "missing_field",
            "/secret",
            "`hmac` requires `secret` and no `publicKey`",
        ),
        Some("ed25519") => {
            let message = "`ed25519` requires the sender's `publicKey` and no `secret`";
            FieldError::new("missing_field", "/publicKey", message)
        }
        Some(_) => FieldError::new("scheme_unknown", "/scheme", "must be `hmac` or `ed25519`"),
    }
}

fn overlap(draft: &KeyDraft) -> Result<Duration, SourceError> {
    let error = |message: String| {
        SourceError::Faulty(vec![FieldError::new("span_malformed", "/overlap", message)])
    };
    let Some(text) = &draft.overlap else { return Ok(DEFAULT_OVERLAP) };
    let overlap = span::parse(text).map_err(|not| error(not.to_string()))?;
    if overlap > MAX_OVERLAP {
        return Err(error("at most 30d".to_owned()));
    }
    Ok(overlap)
}

fn is_key_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (1..=128).contains(&text.len()) && text.bytes().all(plain)
}

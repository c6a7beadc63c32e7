//! Reads keys in the form of a key-value store: `webhook:partner:<name>:key:<id>` and a value such as
//! `{"scheme":"hmac","algo":"sha256","secret":"…"}`. Accepts an object of such pairs, or the list of `{"key":
//! …, "value": …}` that such stores export, in which values may be text.

use gancho_domain::FieldError;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{KeyDraft, SourceDraft, SourceError, SourceService};
use crate::Partner;

/// One key of the import.
#[derive(Debug)]
pub struct Entry {
    pub partner: Partner,
    pub key_id: String,
    pub draft: KeyDraft,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportSummary {
    pub sources: usize,
    pub keys: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct KeyEntry {
    scheme: String,
    algo: Option<String>,
    secret: Option<String>,
    encoding: Option<String>,
    public_key: Option<String>,
}

const MAX_ENTRIES: usize = 10_000;

/// Returns all entries, or all errors.
pub fn read(text: &str) -> Result<Vec<Entry>, Vec<FieldError>> {
    // The parser's error is not shown, because it could quote a secret.
    let malformed = || {
        let message = "not JSON: send an object of entries, or the list of an export";
        vec![FieldError::new("malformed", "", message)]
    };
    let pairs: Vec<(String, Value)> = match serde_json::from_str(text).map_err(|_| malformed())? {
        Value::Object(entries) => entries.into_iter().collect(),
        Value::Array(items) => {
            items.into_iter().map(pair).collect::<Option<_>>().ok_or_else(malformed)?
        }
        _ => return Err(malformed()),
    };
    if pairs.len() > MAX_ENTRIES {
        let message = format!("the maximum is {MAX_ENTRIES} entries per request");
        return Err(vec![FieldError::new("too_many", "", message)]);
    }
    let mut errors = Vec::new();
    let mut entries = Vec::new();
    for (name, value) in pairs {
        match entry(&name, value) {
            Ok(entry) => entries.push(entry),
            Err(message) => {
                let part = gancho_domain::field_error::pointer_part(&name);
                errors.push(FieldError::new("malformed", format!("/{part}"), message));
            }
        }
    }
    if errors.is_empty() { Ok(entries) } else { Err(errors) }
}

fn pair(item: Value) -> Option<(String, Value)> {
    let Value::Object(mut item) = item else { return None };
    let text = |item: &mut Map<String, Value>, name| match item.remove(name)? {
        Value::String(text) => Some(text),
        _ => None,
    };
    let name = text(&mut item, "key").or_else(|| text(&mut item, "name"))?;
    Some((name, item.remove("value")?))
}

fn entry(name: &str, value: Value) -> Result<Entry, &'static str> {
    let form = "the key is not webhook:partner:<name>:key:<id>";
    let rest = name.strip_prefix("webhook:partner:").ok_or(form)?;
    let (partner, key_id) = rest.split_once(":key:").ok_or(form)?;
    let entry: KeyEntry = match value {
        Value::String(text) => serde_json::from_str(&text),
        other => serde_json::from_value(other),
    }
    .map_err(|_| "the value is not {scheme, algo, secret or publicKey, encoding}")?;
    Ok(Entry {
        partner: partner.parse().map_err(|_| "invalid partner name")?,
        key_id: key_id.to_owned(),
        draft: KeyDraft {
            scheme: Some(entry.scheme),
            algo: entry.algo,
            secret: entry.secret,
            encoding: entry.encoding,
            public_key: entry.public_key,
            ..KeyDraft::default()
        },
    })
}

impl SourceService {
    /// Creates the sources that do not exist yet with their defaults, and stores the keys.
    pub async fn import(&self, text: &str) -> Result<ImportSummary, SourceError> {
        let entries = read(text).map_err(SourceError::Faulty)?;
        let mut done = ImportSummary::default();
        for entry in entries {
            let partner = Some(entry.partner.to_string());
            match self.create(SourceDraft { partner, ..SourceDraft::default() }).await {
                Ok(_) => done.sources += 1,
                Err(SourceError::Taken(_)) => {}
                Err(error) => return Err(error),
            }
            self.put_key(&entry.partner, &entry.key_id, entry.draft).await?;
            done.keys += 1;
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let one = r#"{"webhook:partner:acme:key:k1":{"scheme":"hmac","algo":"sha256","secret":"s"},
            "webhook:partner:beta:key:k9":{"scheme":"ed25519","publicKey":"BASE64"}}"#;
        let entries = read(one).unwrap();
        let names: Vec<_> =
            entries.iter().map(|e| (e.partner.as_str(), e.key_id.as_str())).collect();
        assert_eq!(names, [("acme", "k1"), ("beta", "k9")]);
        assert_eq!(entries[1].draft.public_key.as_deref(), Some("BASE64"));
        let list = r#"[{"key":"webhook:partner:acme:key:k1","value":"{\"scheme\":\"hmac\",\"secret\":\"s\"}"}]"#;
        assert_eq!(read(list).unwrap()[0].draft.secret.as_deref(), Some("s"));
    }

    #[test]
    fn faults_name_the_entry_and_never_the_secret() {
        let invalid = r#"{"webhook:partner:acme":{"scheme":"hmac","secret":"hush-hush"},
            "webhook:partner:a/b:key:k":{"scheme":"hmac","secret":"hush-hush"},
            "webhook:partner:c:key:k":{"scheme":"hmac","sekret":"hush-hush"}}"#;
        let errors = read(invalid).unwrap_err();
        let pointers: Vec<_> = errors.iter().map(|error| error.pointer.as_str()).collect();
        // By name, as they are in memory.
        assert_eq!(
            pointers,
            ["/webhook:partner:a~1b:key:k", "/webhook:partner:acme", "/webhook:partner:c:key:k"]
        );
        assert!(!format!("{errors:?}").contains("hush"));
        for invalid in ["", "[]x", "7", r#"[{"key":7,"value":{}}]"#] {
            assert!(read(invalid).is_err(), "{invalid}");
        }
    }
}

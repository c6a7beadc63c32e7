//! HMAC-SHA256 as many senders use it, each with its own header, encoding and base string.

use serde::Deserialize;

use crate::{
    BaseString, Recipe, TimestampFormat,
    base_string::Piece,
    candidates::Layout,
    profile_check::{is_header_name, is_printable},
    recipe::Names,
};

/// A sender's signature scheme, as an operator writes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenericHmac {
    /// The header with the signature.
    pub header: String,
    /// The text before the signature, such as `sha256=`.
    #[serde(default)]
    pub prefix: String,
    pub encoding: SignatureEncoding,
    /// The signed text. Default: `{body}`.
    #[serde(default)]
    pub base: BaseString,
    #[serde(default)]
    pub timestamp_header: Option<String>,
    #[serde(default)]
    pub timestamp_form: TimestampFormat,
    #[serde(default)]
    pub id_header: Option<String>,
    #[serde(default)]
    pub key_id_header: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignatureEncoding {
    Hex,
    Base64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GenericHmacError {
    #[error("`{0}` is not a valid header name; use letters, digits and `-`")]
    HeaderName(String),
    #[error("the header `{0}` is used twice; each purpose needs its own header")]
    RepeatedHeader(String),
    #[error("the prefix must be printable ASCII")]
    Prefix,
    #[error("`base` contains {{timestamp}}; set `timestamp_header`")]
    NoTimestampHeader,
    #[error(
        "an unsigned timestamp proves nothing; add {{timestamp}} to `base` or remove `timestamp_header`"
    )]
    UnsignedTimestamp,
    #[error("`base` contains {{id}}; set `id_header`")]
    NoIdHeader,
    #[error(
        "an unsigned id could be changed to replay a message; add {{id}} to `base` or remove `id_header`"
    )]
    UnsignedId,
}

impl GenericHmac {
    pub fn recipe(&self) -> Result<Recipe, GenericHmacError> {
        self.check_names()?;
        if !self.prefix.bytes().all(is_printable) {
            return Err(GenericHmacError::Prefix);
        }
        match (self.base.has(&Piece::Timestamp), &self.timestamp_header) {
            (true, None) => return Err(GenericHmacError::NoTimestampHeader),
            (false, Some(_)) => return Err(GenericHmacError::UnsignedTimestamp),
            _ => {}
        }
        match (self.base.has(&Piece::Id), &self.id_header) {
            (true, None) => return Err(GenericHmacError::NoIdHeader),
            (false, Some(_)) => return Err(GenericHmacError::UnsignedId),
            _ => {}
        }
        Ok(Recipe {
            names: Names {
                signature: self.header.clone(),
                timestamp: self.timestamp_header.clone(),
                id: self.id_header.clone(),
            },
            other_names: None,
            key_id_header: self.key_id_header.clone(),
            layout: Layout::Single { prefix: self.prefix.clone(), encoding: self.encoding },
            time_form: self.timestamp_form,
            base: self.base.clone(),
        })
    }

    fn check_names(&self) -> Result<(), GenericHmacError> {
        let others = [&self.timestamp_header, &self.id_header, &self.key_id_header];
        let names: Vec<_> =
            [&self.header].into_iter().chain(others.into_iter().flatten()).collect();
        for (index, name) in names.iter().enumerate() {
            if !is_header_name(name) {
                return Err(GenericHmacError::HeaderName((*name).clone()));
            }
            if names[..index].iter().any(|earlier| earlier.eq_ignore_ascii_case(name)) {
                return Err(GenericHmacError::RepeatedHeader((*name).clone()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(json: &str) -> Result<Recipe, GenericHmacError> {
        serde_json::from_str::<GenericHmac>(json).unwrap().recipe()
    }

    #[test]
    fn a_header_and_an_encoding_are_enough() {
        let recipe = recipe(r#"{"header": "X-Sig", "encoding": "hex"}"#).unwrap();
        assert!(!recipe.is_timed());
    }

    #[test]
    fn what_is_read_must_be_signed_and_what_is_signed_must_be_read() {
        for (more, error) in [
            (r#""base": "{timestamp}{body}""#, GenericHmacError::NoTimestampHeader),
            (r#""timestamp_header": "T""#, GenericHmacError::UnsignedTimestamp),
            (r#""base": "{id}.{body}""#, GenericHmacError::NoIdHeader),
            (r#""id_header": "I""#, GenericHmacError::UnsignedId),
            (r#""key_id_header": "s""#, GenericHmacError::RepeatedHeader("s".to_owned())),
            (r#""key_id_header": "a b""#, GenericHmacError::HeaderName("a b".to_owned())),
            (r#""prefix": "a\nb""#, GenericHmacError::Prefix),
        ] {
            let json = format!(r#"{{"header": "S", "encoding": "base64", {more}}}"#);
            assert_eq!(recipe(&json), Err(error), "{more}");
        }
    }

    #[test]
    fn a_faulty_base_string_is_refused_when_it_is_read() {
        let json = r#"{"header": "S", "encoding": "hex", "base": "{id}{body}"}"#;
        let error = serde_json::from_str::<GenericHmac>(json).unwrap_err();
        assert!(error.to_string().contains("ambiguous"), "{error}");
    }
}

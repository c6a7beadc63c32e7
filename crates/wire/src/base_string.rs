//! The base string: the text that a sender signs, as a template of timestamp, id and body.

use std::{mem::take, str::FromStr};

use serde::Deserialize;

use crate::headers::is_id_byte;

/// A template such as `{timestamp}.{body}` or `v0:{timestamp}:{body}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct BaseString {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Timestamp,
    Id,
    Body,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseStringError {
    #[error("unknown placeholder `{{{0}}}`; use {{timestamp}}, {{id}} and {{body}}")]
    Unknown(String),
    #[error("unclosed brace; the placeholders are {{timestamp}}, {{id}} and {{body}}")]
    Unclosed,
    #[error("duplicate placeholder `{{{0}}}`; use it once")]
    Repeated(&'static str),
    #[error("`base` must contain {{body}}, or the signature would not protect the body")]
    NoBody,
    #[error(
        "{{id}} must be followed by a character that no id contains, such as `.` or `:`, or the signed text would be ambiguous"
    )]
    IdNotSetApart,
}

impl BaseString {
    /// Creates a template of a preset, which is known to be valid.
    pub(crate) fn of(pieces: Vec<Piece>) -> Self {
        Self { pieces }
    }

    pub(crate) fn has(&self, piece: &Piece) -> bool {
        self.pieces.contains(piece)
    }

    /// Returns the signed text of a message, in parts, so that the body is not copied.
    pub(crate) fn fill<'a>(
        &'a self,
        timestamp: &'a [u8],
        id: &'a [u8],
        body: &'a [u8],
    ) -> Vec<&'a [u8]> {
        let part = |piece: &'a Piece| match piece {
            Piece::Text(text) => text.as_bytes(),
            Piece::Timestamp => timestamp,
            Piece::Id => id,
            Piece::Body => body,
        };
        self.pieces.iter().map(part).collect()
    }

    fn check(self) -> Result<Self, BaseStringError> {
        let named = [(Piece::Timestamp, "timestamp"), (Piece::Id, "id"), (Piece::Body, "body")];
        for (piece, name) in named {
            if self.pieces.iter().filter(|p| **p == piece).count() > 1 {
                return Err(BaseStringError::Repeated(name));
            }
        }
        if !self.has(&Piece::Body) {
            return Err(BaseStringError::NoBody);
        }
        // A timestamp needs no such check: within the tolerance all of them have the same length.
        for pair in self.pieces.windows(2) {
            let set_apart = match pair {
                [Piece::Id, Piece::Text(text)] => {
                    text.bytes().next().is_some_and(|b| !is_id_byte(b))
                }
                [Piece::Text(text), Piece::Id] => {
                    text.bytes().last().is_some_and(|b| !is_id_byte(b))
                }
                [Piece::Id, _] | [_, Piece::Id] => false,
                _ => true,
            };
            if !set_apart {
                return Err(BaseStringError::IdNotSetApart);
            }
        }
        Ok(self)
    }
}

impl FromStr for BaseString {
    type Err = BaseStringError;

    fn from_str(template: &str) -> Result<Self, Self::Err> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) = after.split_once('}').ok_or(BaseStringError::Unclosed)?;
            let piece = match name {
                "timestamp" => Piece::Timestamp,
                "id" => Piece::Id,
                "body" => Piece::Body,
                other => return Err(BaseStringError::Unknown(other.to_owned())),
            };
            text.push_str(before);
            if !text.is_empty() {
                pieces.push(Piece::Text(take(&mut text)));
            }
            pieces.push(piece);
            rest = behind;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Self { pieces }.check()
    }
}

impl TryFrom<String> for BaseString {
    type Error = BaseStringError;

    fn try_from(template: String) -> Result<Self, Self::Error> {
        template.parse()
    }
}

impl Default for BaseString {
    /// Signs the body alone.
    fn default() -> Self {
        Self { pieces: vec![Piece::Body] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> Result<String, BaseStringError> {
        let base: BaseString = template.parse()?;
        Ok(String::from_utf8(base.fill(b"T", b"I", b"B").concat()).unwrap())
    }

    #[test]
    fn templates_are_filled() {
        for (template, text) in [
            ("{body}", "B"),
            ("{timestamp}{body}", "TB"),
            ("v0:{timestamp}:{body}", "v0:T:B"),
            ("{id}.{timestamp}.{body}", "I.T.B"),
            ("{body}\n{id}", "B\nI"),
        ] {
            assert_eq!(filled(template).as_deref(), Ok(text));
        }
    }

    #[test]
    fn templates_that_could_be_cut_elsewhere_are_refused() {
        for template in ["{id}{body}", "{body}{id}", "{id}x{body}", "{timestamp}{id}.{body}"] {
            assert_eq!(filled(template), Err(BaseStringError::IdNotSetApart), "{template}");
        }
    }

    #[test]
    fn other_faults_say_what_to_write() {
        assert_eq!(filled(""), Err(BaseStringError::NoBody));
        assert_eq!(filled("{timestamp}"), Err(BaseStringError::NoBody));
        assert_eq!(filled("{body}{body}"), Err(BaseStringError::Repeated("body")));
        assert_eq!(filled("{body"), Err(BaseStringError::Unclosed));
        let error = filled("{payload}").unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown placeholder `{payload}`; use {timestamp}, {id} and {body}"
        );
    }
}

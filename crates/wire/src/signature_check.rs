//! Finds out why a receiver computes another signature: which of the signed parts differ.
//!
//! Replaces received parts by sent ones, as few as possible, until one of the keys makes the signature. The
//! replaced parts are those that differ.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use data_encoding::{BASE64, HEXLOWER};

use crate::{Profile, Scheme, SigningKey};

/// A part of the signed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignedPart {
    Id,
    Timestamp,
    Body,
}

/// The parts of a signed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SignedParts<'a> {
    pub id: &'a str,
    pub timestamp: &'a str,
    pub body: &'a [u8],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignatureCheck {
    /// One of the keys made it, from the received parts except for these.
    Made { differs: Vec<SignedPart> },
    /// None of the keys made it, neither from the received parts nor from the sent ones.
    OtherKey,
}

impl Scheme {
    /// Returns the parts that a scheme signs.
    pub const fn signs(self) -> &'static [SignedPart] {
        match self {
            Self::Standard => &[SignedPart::Id, SignedPart::Timestamp, SignedPart::Body],
            Self::TimedSeconds | Self::TimedMillis => &[SignedPart::Timestamp, SignedPart::Body],
            Self::Sha256 | Self::Hex | Self::V0 => &[SignedPart::Body],
        }
    }
}

/// Compares a received signature with what the keys make of `received` and of each of `sent`: every attempt
/// has its own timestamp.
pub fn check_signature(
    profile: &Profile,
    keys: &[SigningKey],
    signature: &str,
    received: SignedParts<'_>,
    sent: &[SignedParts<'_>],
) -> SignatureCheck {
    let scheme = profile.signature.scheme;
    let signed = scheme.signs();
    let mut sets: Vec<Vec<SignedPart>> = (0_u32..1 << signed.len())
        .map(|set| {
            let chosen = signed.iter().enumerate().filter(|(place, _)| (set >> place) & 1 == 1);
            chosen.map(|(_, part)| *part).collect()
        })
        .collect();
    sets.sort_by_key(Vec::len);
    for differs in sets {
        let mut candidates = sent.iter().map(|sent| replace(received, *sent, &differs));
        let is_made = if differs.is_empty() {
            is_made_of(scheme, keys, signature, received)
        } else {
            candidates.any(|parts| is_made_of(scheme, keys, signature, parts))
        };
        if is_made {
            return SignatureCheck::Made { differs };
        }
    }
    SignatureCheck::OtherKey
}

fn replace<'a>(
    received: SignedParts<'a>,
    sent: SignedParts<'a>,
    parts: &[SignedPart],
) -> SignedParts<'a> {
    let mut replaced = received;
    for part in parts {
        match part {
            SignedPart::Id => replaced.id = sent.id,
            SignedPart::Timestamp => replaced.timestamp = sent.timestamp,
            SignedPart::Body => replaced.body = sent.body,
        }
    }
    replaced
}

fn is_made_of(
    scheme: Scheme,
    keys: &[SigningKey],
    signature: &str,
    parts: SignedParts<'_>,
) -> bool {
    let SignedParts { id, timestamp, body } = parts;
    keys.iter().any(|key| {
        let tag = match scheme {
            Scheme::Standard => key.tag(&[id.as_bytes(), b".", timestamp.as_bytes(), b".", body]),
            Scheme::TimedSeconds | Scheme::TimedMillis => {
                key.tag(&[timestamp.as_bytes(), b".", body])
            }
            Scheme::Sha256 | Scheme::Hex | Scheme::V0 => key.tag(&[body]),
        };
        let text = match scheme {
            Scheme::Standard => BASE64.encode(tag.as_ref()),
            _ => HEXLOWER.encode(tag.as_ref()),
        };
        candidates(signature).any(|one| is_equal(one, &text))
    })
}

/// Returns the signatures in a header, without their version prefixes.
fn candidates(header: &str) -> impl Iterator<Item = &str> {
    let words = header.split([' ', ',', '\n', '\r', '\t']).filter(|word| !word.is_empty());
    let marks = ["v1=", "v0=", "sha256="];
    words.map(move |word| marks.iter().find_map(|mark| word.strip_prefix(mark)).unwrap_or(word))
}

fn is_equal(one: &str, other: &str) -> bool {
    verify_slices_are_equal(one.as_bytes(), other.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use gancho_domain::Time;

    use super::*;
    use crate::{AttemptMetadata, sign};

    const BODY: &[u8] = br#"{"a":1}"#;
    const SENDING: AttemptMetadata<'_> = AttemptMetadata {
        event_id: "evt_1",
        endpoint_id: "wh_1",
        event_type: "user.created",
        at: Time::from_millis(1_706_012_345_678),
        retry: 0,
    };

    fn key(profile: &Profile, secret: &str) -> Vec<SigningKey> {
        vec![SigningKey::for_profile(profile, secret).unwrap()]
    }

    #[test]
    fn it_names_the_part_that_differs() {
        use SignedPart::{Body, Id, Timestamp};
        for profile in Profile::built_in() {
            let keys = key(&profile, "a secret of some length");
            let signature = sign(&profile, &SENDING, BODY, &keys).unwrap().pop().unwrap().1;
            let time = match profile.signature.scheme {
                Scheme::TimedMillis => "1706012345678",
                _ => "1706012345",
            };
            let sent = SignedParts { id: "evt_1", timestamp: time, body: BODY };
            let other = SignedParts { timestamp: "1706012000", ..sent };
            for (received, mut differs) in [
                (sent, vec![]),
                (SignedParts { id: "evt_2", ..sent }, vec![Id]),
                (SignedParts { timestamp: "1", ..sent }, vec![Timestamp]),
                (SignedParts { body: b"{ \"a\": 1 }", ..sent }, vec![Body]),
                (SignedParts { timestamp: "1", body: b"", ..sent }, vec![Timestamp, Body]),
            ] {
                differs.retain(|part| profile.signature.scheme.signs().contains(part));
                let check = check_signature(&profile, &keys, &signature, received, &[other, sent]);
                assert_eq!(check, SignatureCheck::Made { differs }, "{}", profile.name);
            }
            let others = key(&profile, "another secret of some length");
            let check = check_signature(&profile, &others, &signature, sent, &[sent]);
            assert_eq!(check, SignatureCheck::OtherKey);
            assert_eq!(
                check_signature(&profile, &keys, "v1,nonsense", sent, &[sent]),
                SignatureCheck::OtherKey
            );
        }
    }
}

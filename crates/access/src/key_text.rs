//! The text of an API key: `gk_<id>_<secret>_<check>`.
//!
//! The prefix lets secret scanners find leaked keys. The id is used for the lookup, so that the store never
//! sees the secret. The checksum detects typos without asking the store.

use aws_lc_rs::rand;
use gancho_domain::Id;
use gancho_vault::Secret;

use crate::api_key::{ApiKeyIdKind, KeyId};

pub const PREFIX: &str = "gk_";
const ID_PREFIX: &str = "key_";
const SECRET_LENGTH: usize = 43;
const CHECK_LENGTH: usize = 6;
const ID_LENGTH: usize = 26;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

pub fn is_key(token: &str) -> bool {
    token.starts_with(PREFIX)
}

/// Creates the text of a key and its secret part: 43 letters and digits, 256 bits.
pub fn new_key(id: KeyId) -> Option<(Secret, Secret)> {
    let mut secret = Secret::new(String::with_capacity(SECRET_LENGTH));
    let mut bytes = [0_u8; 64];
    while secret.len() < SECRET_LENGTH {
        rand::fill(&mut bytes).ok()?;
        // Bytes from 248 on would make some letters more likely than others.
        let letters = bytes.iter().filter(|byte| **byte < 248);
        let letters = letters.map(|byte| char::from(ALPHABET[usize::from(byte % 62)]));
        let missing = SECRET_LENGTH - secret.len();
        secret.extend(letters.take(missing));
    }
    let text = id.to_string();
    let bare = text.strip_prefix(ID_PREFIX)?;
    let body = Secret::new(format!("{PREFIX}{bare}_{}", *secret));
    let check = check(&body);
    let check = std::str::from_utf8(&check).ok()?;
    let key = Secret::new(format!("{}_{check}", *body));
    Some((key, secret))
}

/// Returns the id and the secret part of a well-formed key with a correct checksum. Called for every
/// request, so it does not allocate.
pub fn parse(token: &str) -> Option<(KeyId, &str)> {
    let rest = token.strip_prefix(PREFIX)?;
    if rest.len() != ID_LENGTH + 1 + SECRET_LENGTH + 1 + CHECK_LENGTH || !rest.is_ascii() {
        return None;
    }
    let (id, rest) = rest.split_at(ID_LENGTH);
    let (secret, given) = rest.strip_prefix('_')?.split_at(SECRET_LENGTH);
    let given = given.strip_prefix('_')?;
    if given.as_bytes() != check(&token[..token.len() - CHECK_LENGTH - 1]) {
        return None;
    }
    let mut text = [0; ID_PREFIX.len() + ID_LENGTH];
    text[..ID_PREFIX.len()].copy_from_slice(ID_PREFIX.as_bytes());
    text[ID_PREFIX.len()..].copy_from_slice(id.as_bytes());
    let id: Id<ApiKeyIdKind> = std::str::from_utf8(&text).ok()?.parse().ok()?;
    Some((id, secret))
}

/// CRC-32 in base 62.
fn check(text: &str) -> [u8; CHECK_LENGTH] {
    let crc = text.bytes().fold(u32::MAX, |crc, byte| crc >> 8 ^ CRC[(crc as u8 ^ byte) as usize]);
    let mut rest = !crc;
    let mut letters = [0; CHECK_LENGTH];
    for place in letters.iter_mut().rev() {
        *place = ALPHABET[(rest % 62) as usize];
        rest /= 62;
    }
    letters
}

const CRC: [u32; 256] = crc_table();

const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = crc >> 1 ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_and_read() {
        let id = KeyId::from_bits(1 << 100 | 7);
        let (key, secret) = new_key(id).unwrap();
        assert_eq!(key.len(), 80);
        let (read, part) = parse(&key).unwrap();
        assert_eq!((read, part), (id, secret.as_str()));
        assert_ne!(new_key(id).unwrap().0, key);
    }

    #[test]
    fn a_slip_is_noticed_without_asking_the_store() {
        let (key, _) = new_key(KeyId::from_bits(5)).unwrap();
        for at in 0..key.len() {
            let mut changed = key.as_bytes().to_vec();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(parse(&changed).is_none(), "{at}");
            assert!(parse(&key[..at]).is_none());
        }
        for malformed in ["", "gk_", "gk_é", &"gk_".repeat(40), &format!("{}x", *key)] {
            assert!(parse(malformed).is_none());
        }
    }

    #[test]
    fn the_check_is_the_usual_crc() {
        // 0xCBF43926 is the standard check value of CRC-32, for "123456789".
        let mut rest = 0xCBF4_3926_u32;
        let mut letters = vec![0; CHECK_LENGTH];
        for place in letters.iter_mut().rev() {
            *place = ALPHABET[(rest % 62) as usize];
            rest /= 62;
        }
        assert_eq!(check("123456789").as_slice(), letters);
    }
}

//! The stored form of rotated secrets, one per line: until when each signs, in microseconds, and its
//! ciphertext, in hexadecimal.

use std::fmt::Write;

use gancho_domain::{OldSecret, Time};

use crate::{Result, StoreError};

pub fn write(secrets: &[OldSecret]) -> String {
    let mut text = String::new();
    for secret in secrets {
        // Writing to a string does not fail.
        let _ = write!(text, "{} ", secret.until.micros());
        for byte in &secret.sealed {
            let _ = write!(text, "{byte:02x}");
        }
        text.push('\n');
    }
    text
}

pub fn read(text: &str) -> Result<Vec<OldSecret>> {
    // The text is not shown: encrypted or not, secrets do not belong in an error.
    let unknown = || StoreError::Corrupt("invalid rotated secret".to_owned());
    text.lines().map(|line| old_secret(line).ok_or_else(unknown)).collect()
}

fn old_secret(line: &str) -> Option<OldSecret> {
    let (until, hex) = line.split_once(' ')?;
    let sealed = hex
        .as_bytes()
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect::<Option<_>>()?;
    Some(OldSecret { sealed, until: Time::from_micros(until.parse().ok()?) })
}

fn digit(text: u8) -> Option<u8> {
    char::from(text).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let newer =
            OldSecret { sealed: (0..=255).collect(), until: Time::from_secs(1_760_000_000) };
        let older = OldSecret { sealed: vec![], until: Time::from_micros(-1) };
        for secrets in [vec![], vec![newer.clone()], vec![newer, older]] {
            assert_eq!(read(&write(&secrets)), Ok(secrets));
        }
        for odd in ["12", "x ab", "12 abc", "12 zz", "12  ab"] {
            assert!(read(odd).is_err(), "{odd}");
        }
    }
}

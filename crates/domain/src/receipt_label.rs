//! The label of a receipt: its sender, the key that verified it, and the kind of event that the sender's
//! header names. It is stored as the parcel's type, so that lists and the carrier need no other row:
//! `acme/k1` or `acme/k1/orders/create`.

use std::fmt::Display;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptLabel<'a> {
    pub partner: &'a str,
    pub key_id: &'a str,
    /// The topic. It comes from a header that no signature covers, or from an SNS message, whose signature
    /// covers it.
    pub topic: Option<&'a str>,
}

const MAX_TOPIC_BYTES: usize = 100;

impl<'a> ReceiptLabel<'a> {
    pub fn write(partner: impl Display, key_id: &str, topic: Option<&str>) -> Box<str> {
        match topic {
            Some(topic) => format!("{partner}/{key_id}/{topic}").into(),
            None => format!("{partner}/{key_id}").into(),
        }
    }

    pub fn read(text: &'a str) -> Self {
        let mut parts = text.splitn(3, '/');
        let partner = parts.next().unwrap_or_default();
        let key_id = parts.next().unwrap_or_default();
        Self { partner, key_id, topic: parts.next() }
    }
}

/// Returns the topic, if it may be stored on a receipt and sent in a header.
pub fn topic(value: &[u8]) -> Option<&str> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./:".contains(byte);
    let fits = (1..=MAX_TOPIC_BYTES).contains(&value.len()) && value.iter().all(plain);
    std::str::from_utf8(value).ok().filter(|_| fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for topic in [None, Some("push"), Some("orders/create")] {
            let text = ReceiptLabel::write("acme", "2024.k1", topic);
            assert_eq!(
                ReceiptLabel::read(&text),
                ReceiptLabel { partner: "acme", key_id: "2024.k1", topic }
            );
        }
    }

    #[test]
    fn topics_are_plain() {
        assert_eq!(topic(b"orders/create"), Some("orders/create"));
        for invalid in [&b""[..], b"a b", b"a\r\nb", "\u{e9}".as_bytes(), &[b'a'; 101]] {
            assert_eq!(topic(invalid), None);
        }
    }
}

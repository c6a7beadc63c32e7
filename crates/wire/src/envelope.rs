//! The body of a delivery: the publisher's data, unchanged, inside an envelope.
//!
//! The data is copied byte for byte and never parsed. Re-serializing would change the spelling of numbers,
//! drop duplicate keys, and invalidate the publisher's own signatures within the data.

use bytes::Bytes;
use gancho_domain::Time;

use crate::Envelope;

/// The event's data for the envelope. It is the same for every attempt, so a body is rendered once.
#[derive(Debug, Clone, Copy)]
pub struct Content<'a> {
    pub event_id: &'a str,
    pub event_type: &'a str,
    /// When the event was accepted; the time of an attempt is in the headers.
    pub created_at: Time,
    /// The event's number within its subject, if it has one.
    pub number: Option<u64>,
    /// JSON text as the publisher sent it. Publishing has checked that it is JSON.
    pub data: &'a [u8],
}

/// Room for the keys, a time and a type of usual length.
const ENVELOPE_BYTES: usize = 192;

impl Envelope {
    pub fn render(self, content: &Content<'_>) -> Bytes {
        let mut body = Vec::with_capacity(content.data.len() + ENVELOPE_BYTES);
        let created_at = content.created_at.to_string();
        match self {
            Self::Standard => {
                field(&mut body, "{\"type\":", content.event_type);
                field(&mut body, ",\"timestamp\":", &created_at);
            }
            Self::EmailGateway => {
                field(&mut body, "{\"eventType\":", content.event_type);
                field(&mut body, ",\"eventId\":", content.event_id);
                field(&mut body, ",\"timestamp\":", &created_at);
                // The contract always requires an integer. An event without a sequence is the only one of its
                // own.
                body.extend_from_slice(b",\"sequenceNumber\":");
                body.extend_from_slice(content.number.unwrap_or(1).to_string().as_bytes());
            }
            Self::Auracore => {
                field(&mut body, "{\"id\":", content.event_id);
                field(&mut body, ",\"type\":", content.event_type);
                field(&mut body, ",\"created_at\":", &created_at);
            }
            Self::Bare => return Bytes::copy_from_slice(content.data),
        }
        body.extend_from_slice(b",\"data\":");
        body.extend_from_slice(content.data);
        body.push(b'}');
        Bytes::from(body)
    }
}

fn field(body: &mut Vec<u8>, key: &str, value: &str) {
    body.extend_from_slice(key.as_bytes());
    push_json_string(body, value);
}

fn push_json_string(body: &mut Vec<u8>, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    body.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => body.extend_from_slice(&[b'\\', byte]),
            0..=0x1f => {
                body.extend_from_slice(b"\\u00");
                body.push(HEX[usize::from(byte >> 4)]);
                body.push(HEX[usize::from(byte & 0xf)]);
            }
            _ => body.push(byte),
        }
    }
    body.push(b'"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Envelope; 4] =
        [Envelope::Standard, Envelope::EmailGateway, Envelope::Auracore, Envelope::Bare];

    fn content<'a>(event_type: &'a str, data: &'a [u8]) -> Content<'a> {
        Content {
            event_id: "evt_1",
            event_type,
            created_at: Time::from_millis(1_737_642_600_123),
            number: Some(3),
            data,
        }
    }

    #[test]
    fn each_envelope_has_its_contract() {
        let rendered = ALL.map(|e| e.render(&content("user.created", br#"{"a": 1.0}"#)));
        assert_eq!(
            rendered.each_ref().map(|body| std::str::from_utf8(body).unwrap()),
            [
                r#"{"type":"user.created","timestamp":"2025-01-23T14:30:00.123Z","data":{"a": 1.0}}"#,
                r#"{"eventType":"user.created","eventId":"evt_1","timestamp":"2025-01-23T14:30:00.123Z","sequenceNumber":3,"data":{"a": 1.0}}"#,
                r#"{"id":"evt_1","type":"user.created","created_at":"2025-01-23T14:30:00.123Z","data":{"a": 1.0}}"#,
                r#"{"a": 1.0}"#,
            ]
        );
    }

    #[test]
    fn an_event_outside_any_sequence_is_number_one() {
        let body =
            Envelope::EmailGateway.render(&Content { number: None, ..content("t", b"null") });
        assert!(body.windows(20).any(|w| w == b"\"sequenceNumber\":1,\""));
    }

    #[test]
    fn odd_spellings_survive() {
        for data in [
            r#"{"n": 1.0, "m": 1e400, "k": -0.0, "big": 12345678901234567890123}"#,
            r#"{"a":1,"a":2}"#,
            r#""\u0000 \ud800 \/ \u00e9""#,
            " [ 1 ,\n2 ]\t",
        ] {
            for envelope in ALL {
                assert_holds_data(
                    &envelope.render(&content("t", data.as_bytes())),
                    data.as_bytes(),
                );
            }
        }
    }

    fn assert_holds_data(body: &[u8], data: &[u8]) {
        if body != data {
            let wrapped = [b",\"data\":", data, b"}"].concat();
            assert!(body.ends_with(&wrapped), "{:?}", String::from_utf8_lossy(body));
        }
    }

    proptest! {
        #[test]
        fn data_is_inside_byte_for_byte(data: Vec<u8>) {
            for envelope in ALL {
                assert_holds_data(&envelope.render(&content("t", &data)), &data);
            }
        }

        #[test]
        fn any_type_and_id_read_back_as_they_were(event_type: String, event_id: String) {
            let content = Content { event_id: &event_id, ..content(&event_type, b"[1]") };
            let body = Envelope::EmailGateway.render(&content);
            let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
            prop_assert_eq!(&value["eventType"], &event_type);
            prop_assert_eq!(&value["eventId"], &event_id);
            prop_assert_eq!(&value["data"], &serde_json::json!([1]));
        }
    }
}

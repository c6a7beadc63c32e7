//! W3C Trace Context: which trace an event belongs to.
//!
//! A publisher's `traceparent` is stored with the event, so that attempts belong to its trace whenever and on
//! whichever node they are made. Without one, the event's id is the trace id. Ids of spans follow from ids of
//! events and deliveries: nothing else has to be stored.

use std::fmt;

use crate::{DeliveryId, Parcel};

const SAMPLED: u8 = 1;
/// The flags that are passed on: sampled, and random (of level 2).
const KNOWN_FLAGS: u8 = 3;

/// A position in a trace: the content of a `traceparent` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// Never zero.
    pub trace_id: u128,
    /// Never zero.
    pub span_id: u64,
    pub flags: u8,
}

impl TraceContext {
    /// The length in bytes in the stores.
    pub const SIZE: usize = 25;

    /// Reads a `traceparent` header. Returns `None` if it is invalid, because the standard requires to ignore
    /// it then.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let has_more = match bytes.len() {
            55 => false,
            56.. => bytes.get(55) == Some(&b'-'),
            _ => return None,
        };
        let version = hex(text.get(..2)?)?;
        // Later versions may append fields, version 0 has none. 255 is not a version.
        if version == 255 || has_more && version == 0 || bytes.len() > 55 && !has_more {
            return None;
        }
        if [2, 35, 52].iter().any(|at| bytes[*at] != b'-') {
            return None;
        }
        let trace_id = hex(text.get(3..35)?)?;
        let span_id = u64::try_from(hex(text.get(36..52)?)?).ok()?;
        let flags = u8::try_from(hex(text.get(53..55)?)?).ok()? & KNOWN_FLAGS;
        (trace_id != 0 && span_id != 0).then_some(Self { trace_id, span_id, flags })
    }

    /// Whether spans of this trace are recorded. The start of the trace decides it.
    pub fn is_sampled(self) -> bool {
        self.flags & SAMPLED != 0
    }

    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..16].copy_from_slice(&self.trace_id.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.span_id.to_be_bytes());
        bytes[24] = self.flags;
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (trace_id, rest) = bytes.split_first_chunk::<16>()?;
        let (span_id, rest) = rest.split_first_chunk::<8>()?;
        let [flags] = rest else { return None };
        Some(Self {
            trace_id: u128::from_be_bytes(*trace_id),
            span_id: u64::from_be_bytes(*span_id),
            flags: *flags,
        })
    }
}

/// Writes the value of a `traceparent` header.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, self.flags)
    }
}

/// Accepts lowercase only, as the standard requires.
fn hex(text: &str) -> Option<u128> {
    let is_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_hex.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

impl Parcel {
    /// The span of accepting the parcel.
    pub fn accept_span(&self) -> TraceContext {
        // The low bits of an id are the random ones; an odd number is never zero.
        self.span((self.id.bits() as u64).rotate_left(31) | 1)
    }

    /// The span of one attempt. It is the parent of the target's spans.
    pub fn attempt_span(&self, delivery: DeliveryId, attempt: u32) -> TraceContext {
        self.span(((delivery.bits() as u64).rotate_left(17) ^ u64::from(attempt) << 1) | 1)
    }

    fn span(&self, span_id: u64) -> TraceContext {
        match self.trace {
            Some(parent) => TraceContext { span_id, ..parent },
            None => TraceContext { trace_id: self.id.bits().max(1), span_id, flags: SAMPLED },
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{EventId, Id, ParcelKind, Time};

    const GIVEN: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn parcel(id: u128, trace: Option<TraceContext>) -> Parcel {
        Parcel {
            id: EventId::from_bits(id),
            tenant: Id::from_bits(1),
            kind: ParcelKind::Event,
            event_type: "a.b".into(),
            subject: None,
            external_id: None,
            is_test: false,
            body: Bytes::new(),
            created_at: Time::ZERO,
            trace,
            erased_at: None,
        }
    }

    #[test]
    fn a_header_is_read_and_written() {
        let read = TraceContext::parse(GIVEN).unwrap();
        assert_eq!(read.to_string(), GIVEN);
        assert!(read.is_sampled());
        assert_eq!(TraceContext::from_bytes(&read.to_bytes()), Some(read));
        assert_eq!(TraceContext::from_bytes(&read.to_bytes()[1..]), None);
        let unsampled = TraceContext::parse(&GIVEN.replace("-01", "-02")).unwrap();
        assert!(!unsampled.is_sampled());
        assert_eq!(unsampled.flags, 2);
        // A later version, with a field that version 0 does not have.
        let later = TraceContext::parse(&format!("cc{}-what", &GIVEN[2..])).unwrap();
        assert_eq!(later, read);
    }

    #[test]
    fn an_invalid_header_is_ignored() {
        let zero_trace = GIVEN.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32));
        let zero_span = GIVEN.replace("b7ad6b7169203331", &"0".repeat(16));
        for text in [
            "",
            "00",
            &GIVEN[..54],
            &format!("{GIVEN}-"),
            &format!("{GIVEN}0"),
            &format!("cc{}x", &GIVEN[2..]),
            &format!("ff{}", &GIVEN[2..]),
            &GIVEN.to_uppercase(),
            &GIVEN.replace("-01", "+01"),
            &GIVEN.replace('a', "\u{e9}"),
            &zero_trace,
            &zero_span,
        ] {
            assert_eq!(TraceContext::parse(text), None, "{text}");
        }
    }

    #[test]
    fn one_trace_for_an_event_and_one_span_for_an_attempt() {
        let delivery = DeliveryId::from_bits(99);
        let own = parcel(0x01ab << 112 | 7, None);
        let [first, second] = [1, 2].map(|number| own.attempt_span(delivery, number).to_string());
        assert!(first.starts_with("00-01ab0000000000000000000000000007-"), "{first}");
        assert_eq!(first[..35], second[..35]);
        assert_ne!(first, second);
        assert_eq!(own.accept_span().trace_id, own.attempt_span(delivery, 1).trace_id);
        assert_ne!(own.accept_span().span_id, own.attempt_span(delivery, 1).span_id);
        let zero = parcel(0, None).attempt_span(DeliveryId::from_bits(0), 0);
        assert_eq!(zero.to_string(), "00-00000000000000000000000000000001-0000000000000001-01");
    }

    #[test]
    fn the_trace_of_the_publisher_is_taken_over() {
        let given = TraceContext::parse(&GIVEN.replace("-01", "-00")).unwrap();
        let span = parcel(7, Some(given)).attempt_span(DeliveryId::from_bits(99), 1);
        assert_eq!((span.trace_id, span.flags), (given.trace_id, 0));
        assert_ne!(span.span_id, given.span_id);
    }
}

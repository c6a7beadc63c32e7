//! Loop detection: a header on every request of the gateway, by which it recognizes its own requests.
//! Otherwise an endpoint or core whose URL is the gateway itself would cause an endless loop.
//!
//! `X-Gancho-Hops: 1;by=…` counts how often a gateway has forwarded a request: 1 on requests to endpoints, 2
//! on receipts that go to the core. `by` is a tag that only this gateway's key ring can make, the same on all
//! of its nodes.
//!
//! The listeners limit how far a body can travel. The API refuses requests of any gateway, because an event
//! does not store its hop count, and two gateways that publish to each other would multiply it without end.
//! Ingest accepts requests to endpoints, and all requests of other gateways: what is received goes to one
//! core that the operator has chosen.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use gancho_vault::KeyRing;
use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;

pub const HEADER: HeaderName = HeaderName::from_static("x-gancho-hops");

/// For requests to endpoints.
pub const OF_EVENT: u8 = 1;
/// For dispatched requests.
pub const OF_RECEIPT: u8 = 2;

const PURPOSE: &str = "hops";
const PARTS: [&str; 1] = ["gateway"];
const TAG_BYTES: usize = 16;

pub struct Hops {
    ring: Arc<KeyRing>,
    /// The newest key, and its marks by their number of hops.
    marks: Mutex<(u32, Vec<(u8, HeaderValue)>)>,
}

impl Hops {
    pub fn new(ring: Arc<KeyRing>) -> Self {
        Self { ring, marks: Mutex::default() }
    }

    /// Returns the header value; `None` if the ring has no key, which cannot happen.
    pub fn mark(&self, hops: u8) -> Option<HeaderValue> {
        let newest = self.ring.newest();
        let mut marks = self.marks.lock();
        if marks.0 != newest {
            *marks = (newest, Vec::new());
        }
        if let Some((_, mark)) = marks.1.iter().find(|(number, _)| *number == hops) {
            return Some(mark.clone());
        }
        let tag = self.ring.derive(PURPOSE).tag(newest, &PARTS)?;
        let tag = HEXLOWER.encode(&tag[..TAG_BYTES]);
        let mark = HeaderValue::try_from(format!("{hops};by={newest}.{tag}")).ok()?;
        marks.1.push((hops, mark.clone()));
        Some(mark)
    }

    /// Whether this or another gateway has sent the request.
    pub fn is_from_gateway(headers: &HeaderMap) -> bool {
        let is_mark = |value| parts(value).is_some_and(|(hops, _)| hops > 0);
        headers.get_all(HEADER).iter().any(is_mark)
    }

    /// Returns the hop count of a request that this gateway has sent; 0 for all others.
    pub fn of(&self, headers: &HeaderMap) -> u8 {
        headers.get_all(HEADER).iter().filter_map(|value| self.read(value)).max().unwrap_or(0)
    }

    fn read(&self, value: &HeaderValue) -> Option<u8> {
        let (hops, by) = parts(value)?;
        let (number, tag) = by.split_once('.')?;
        let tag = HEXLOWER.decode(tag.as_bytes()).ok()?;
        let is_ours = self.ring.derive(PURPOSE).verify(number.parse().ok()?, &PARTS, &tag);
        is_ours.then_some(hops)
    }
}

/// Returns the hop count, and the unverified tag of the gateway that has sent it. A proxy may have rewritten
/// the value, with spaces or quotes.
fn parts(value: &HeaderValue) -> Option<(u8, &str)> {
    let (hops, by) = value.to_str().ok()?.split_once(';')?;
    let by = by.trim().strip_prefix("by")?.trim_start().strip_prefix('=')?.trim();
    let by = by.strip_prefix('"').and_then(|by| by.strip_suffix('"')).unwrap_or(by);
    Some((hops.trim().parse().ok()?, by))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carrying(value: &HeaderValue) -> HeaderMap {
        HeaderMap::from_iter([(HEADER, value.clone())])
    }

    // faults.md 31
    #[test]
    fn one_knows_ones_own_and_nobody_elses() {
        let ring = Arc::new(KeyRing::generate().unwrap());
        let (hops, node) = (Hops::new(ring.clone()), Hops::new(ring.clone()));
        let mark = hops.mark(OF_RECEIPT).unwrap();
        assert_eq!((hops.of(&carrying(&mark)), node.of(&carrying(&mark))), (2, 2));
        assert_eq!(hops.of(&HeaderMap::new()), 0);
        let other = Hops::new(Arc::new(KeyRing::generate().unwrap()));
        assert_eq!(other.of(&carrying(&mark)), 0);
        // Also after the ring has got another key.
        ring.adopt(&ring.with_new_key().unwrap()).unwrap();
        assert_eq!(hops.of(&carrying(&mark)), 2);
        let newer = hops.mark(OF_EVENT).unwrap();
        assert_ne!(newer, hops.mark(OF_RECEIPT).unwrap());
        assert_eq!(hops.of(&carrying(&newer)), 1);
        let text = mark.to_str().unwrap();
        for invalid in
            ["", "2", "2;by=", "2;by=1.", "2;by=1.00", &text.replace(";by=1", ";by=7"), &text[..20]]
        {
            let invalid = HeaderValue::from_str(invalid).unwrap();
            assert_eq!(hops.of(&carrying(&invalid)), 0, "{invalid:?}");
        }
        assert!(Hops::is_from_gateway(&carrying(&mark)));
        for other in ["", "0;by=1.00", "x;by=1.00", "2"] {
            let other = HeaderValue::from_str(other).unwrap();
            assert!(!Hops::is_from_gateway(&carrying(&other)), "{other:?}");
        }
        // As a proxy may rewrite it.
        for rewritten in [text.replace(';', "; "), text.replace("=1", "=\"1") + "\""] {
            let rewritten = carrying(&HeaderValue::from_str(&rewritten).unwrap());
            assert_eq!(hops.of(&rewritten), 2, "{rewritten:?}");
            assert!(Hops::is_from_gateway(&rewritten));
        }
        // The mark of another gateway next to it hides nothing.
        let mut both = carrying(&HeaderValue::from_static("1;by=1.00"));
        both.append(HEADER, mark);
        assert_eq!(hops.of(&both), 2);
    }
}

//! The stored form of figures: a version, the counts, and the buckets that are not empty. Most rows have few,
//! so most take a few dozen bytes.

use gancho_domain::{Figures, LatencyHistogram, latency_histogram::BUCKETS};

const VERSION: u8 = 1;

pub fn encode(figures: &Figures) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    let Figures { accepted, attempts, failed_attempts, .. } = *figures;
    let Figures { delivered, delivered_first, dead_letters, .. } = *figures;
    for count in [accepted, attempts, failed_attempts, delivered, delivered_first, dead_letters] {
        put(&mut bytes, count);
    }
    for histogram in [&figures.response_time, &figures.delivery_time] {
        let used = || histogram.counts().iter().enumerate().filter(|(_, count)| **count > 0);
        bytes.push(used().count() as u8);
        for (bucket, count) in used() {
            bytes.push(bucket as u8);
            put(&mut bytes, *count);
        }
    }
    bytes
}

/// Decodes figures; `None` for bytes that [`encode`] cannot have written.
pub fn decode(mut bytes: &[u8]) -> Option<Figures> {
    let rest = &mut bytes;
    if byte(rest)? != VERSION {
        return None;
    }
    let figures = Figures {
        accepted: take(rest)?,
        attempts: take(rest)?,
        failed_attempts: take(rest)?,
        delivered: take(rest)?,
        delivered_first: take(rest)?,
        dead_letters: take(rest)?,
        response_time: histogram(rest)?,
        delivery_time: histogram(rest)?,
    };
    bytes.is_empty().then_some(figures)
}

fn histogram(rest: &mut &[u8]) -> Option<LatencyHistogram> {
    let mut counts = [0; BUCKETS];
    for _ in 0..byte(rest)? {
        let bucket = usize::from(byte(rest)?);
        *counts.get_mut(bucket)? = take(rest)?;
    }
    Some(LatencyHistogram::from_counts(counts))
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, tail) = rest.split_first()?;
    *rest = tail;
    Some(*first)
}

/// Writes seven bits per byte, the lowest first; the highest bit says that more follow.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7F {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let part = byte(rest)?;
        number |= u64::from(part & 0x7F) << shift;
        if part & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn figures_read_back() {
        let mut figures = Figures {
            accepted: 1,
            attempts: 127,
            failed_attempts: 128,
            delivered: u64::MAX,
            delivered_first: 1 << 40,
            dead_letters: 0,
            ..Figures::default()
        };
        assert_eq!(decode(&encode(&figures)), Some(figures));
        for millis in [0, 3, 3, 77, 10_000_000] {
            figures.response_time.add(Duration::from_millis(millis));
            figures.delivery_time.add(Duration::from_millis(2 * millis));
        }
        assert_eq!(decode(&encode(&figures)), Some(figures));
        assert!(encode(&Figures::default()).len() < 10);
    }

    #[test]
    fn what_was_not_written_here_is_not_read() {
        let good = encode(&Figures::default());
        for end in 0..good.len() {
            assert_eq!(decode(&good[..end]), None);
        }
        assert_eq!(decode(&[&good[..], &[0]].concat()), None);
        assert_eq!(decode(&[2; 9]), None);
        assert_eq!(decode(&[&[VERSION][..], &[0xFF; 90]].concat()), None);
        assert_eq!(decode(&[VERSION, 0, 0, 0, 0, 0, 0, 1, 25, 1, 0]), None, "no such bucket");
    }
}

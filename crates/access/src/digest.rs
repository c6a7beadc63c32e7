//! SHA-256, for secrets that are long and random.

use aws_lc_rs::digest::{SHA256, digest};

pub(crate) fn sha256(text: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    bytes
}

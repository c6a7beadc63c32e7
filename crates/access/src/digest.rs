//! SHA-256, for secrets that are long and random.

use aws_lc_rs::digest::{SHA256, digest};

pub(crate) fn sha256(secret: impl AsRef<[u8]>) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, secret.as_ref()).as_ref());
    bytes
}

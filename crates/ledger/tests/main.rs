//! Tampering with the ledger is detected.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod lines {
    mod tamper;
}

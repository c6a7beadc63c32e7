//! The ledger against whoever changes it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod lines {
    mod tamper;
}

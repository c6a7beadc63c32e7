//! The exporter against a collector that decodes what it gets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod export {
    mod collector_errors;
}

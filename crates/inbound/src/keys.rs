//! The gateway's own keys: [`signing_keys`] sign answers and checkpoints, [`public_keys`] check what they signed.
//! [`sealed`] is everything of this crate that is sealed in the store, and seals it anew.

pub mod public_keys;
pub mod sealed;
pub mod signing_keys;

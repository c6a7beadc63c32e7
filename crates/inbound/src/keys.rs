//! The gateway's own keys: [`signing_keys`] sign answers and checkpoints, [`public_keys`] check what they signed.
//! [`reseal`] is everything of this crate that is sealed in the store, and seals it anew.

pub mod public_keys;
pub mod reseal;
pub mod signing_keys;

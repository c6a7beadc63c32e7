//! The gateway's own keys: [`signing_keys`] sign answers and checkpoints, [`public_keys`] check what they signed.
//! [`reseal`] re-encrypts everything of this crate that is encrypted in the store.

pub mod public_keys;
pub mod reseal;
pub mod signing_keys;

//! The gateway's own keys: [`signing_keys`] sign responses and checkpoints, [`public_keys`] verify them.
//! [`reseal`] re-encrypts everything of this crate that is encrypted in the store.

pub mod public_keys;
pub mod reseal;
pub mod signing_keys;

//! Secrets at rest: sealed with a ring of keys, each ciphertext bound to the row it belongs to.
//!
//! [`KeyRing`] holds the keys, newest last; the newest seals, any of them opens. [`Place`] names
//! where a secret is kept, and is sealed with it: a ciphertext that is moved to another row, column
//! or tenant does not open.
//!
//! A sealed secret is `version ‖ key id ‖ nonce ‖ ciphertext ‖ tag` (AES-256-GCM). The key is chosen
//! by its id, never by trying. This crate does no I/O: the caller reads the ring from a file and passes
//! its text. It never shows a key or a secret, in errors, in `Debug` or otherwise. [`DerivedKeys`] are
//! for tokens that only this gateway can make.

mod derive;
mod ring;

pub use derive::DerivedKeys;
pub use ring::{KeyRing, KeyRingError, Place, Secret, UnsealError};

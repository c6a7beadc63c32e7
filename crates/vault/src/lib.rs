//! Secrets at rest: encrypted with a key ring, each ciphertext bound to its row.
//!
//! [`KeyRing`] has the keys, newest last; the newest encrypts, any of them decrypts. [`SecretLocation`] is where a
//! secret is stored, and is authenticated with it: a ciphertext that is moved to another row, column or
//! tenant cannot be decrypted.
//!
//! An encrypted secret is `version ‖ key id ‖ nonce ‖ ciphertext ‖ tag` (AES-256-GCM). The key is selected by
//! its id, never by trying. This crate does no I/O: the caller reads the ring from a file and passes its
//! text. It never shows a key or a secret, in errors, in `Debug` or otherwise. [`DerivedKeys`] are for tokens
//! that only this gateway can make.

mod derive;
mod ring;

pub use derive::DerivedKeys;
pub use ring::{KeyRing, KeyRingError, Secret, SecretLocation, UnsealError};

//! The archive of dead letters that leave the store.
//!
//! In reading order: [`layout`] defines the path of a dead letter, [`document`] its format, and [`folder`]
//! writes the files. Another backend, such as object storage, would be next to `folder` and use the same
//! paths and documents.
//!
//! **Guarantee.** When `keep` returns `Ok`, every document is complete and fsynced. The same dead letter
//! gives the same bytes under the same path, so that archiving it twice is harmless.
//!
//! **What it must never do.** Remove or change anything in the store, or show a secret: what is written
//! of an attempt is what the log holds of it, where secrets are masked already.

pub mod document;
pub mod folder;
pub mod layout;

pub use folder::FolderArchive;

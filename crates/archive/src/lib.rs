//! The archive: where dead letters are kept once they leave the store.
//!
//! In reading order: [`layout`] says under which name a letter is kept, [`document`] what is written
//! there, and [`folder`] keeps the documents as files. Another place, such as an object storage, would
//! stand beside `folder` and use the same names and documents.
//!
//! **What it promises.** When `keep` returns `Ok`, every document is on stable storage under its name,
//! whole. The same letter gives the same bytes under the same name, so that keeping it twice is
//! harmless.
//!
//! **What it must never do.** Remove or change anything in the store, or show a secret: what is written
//! of an attempt is what the log holds of it, where secrets are masked already.

pub mod document;
pub mod folder;
pub mod layout;

pub use folder::FolderArchive;

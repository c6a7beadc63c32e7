//! The archive of dead letters that leave the store.
//!
//! In reading order: [`layout`] defines the path of a dead letter, [`document`] its format, [`folder`] writes
//! files, and [`s3`] objects of the same names in a bucket.
//!
//! **Guarantee.** When `keep` returns `Ok`, every document is complete and on stable storage: fsynced, or
//! confirmed by the service. The same dead letter gives the same bytes under the same path, so archiving it
//! twice is harmless.
//!
//! **What it must never do.** Remove or change anything in the store, or show a secret: an attempt is written
//! as the log has it, in which secrets are masked already.

pub mod document;
pub mod folder;
pub mod layout;
pub mod s3;

pub use folder::FolderArchive;
pub use s3::S3Archive;

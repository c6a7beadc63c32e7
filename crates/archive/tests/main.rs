//! The archive with a real store and a real folder.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod dead_letters {
    mod archive;
}

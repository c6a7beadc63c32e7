//! One file for each command.

pub mod bench;
pub mod dev;
pub mod pipe;

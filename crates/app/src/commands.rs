//! One file for each command.

pub mod bench;
pub mod config;
pub mod dev;
pub mod keys;
pub mod pipe;
pub mod serve;

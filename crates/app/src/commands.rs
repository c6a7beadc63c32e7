//! One file per command. They share [`client`] (calls a gateway), [`input`] (files, secrets and
//! confirmations), [`table`] (output), [`progress`] and [`failure`] (errors, hints and exit codes).

pub mod alerts;
pub mod api_keys;
pub mod apply;
pub mod audit;
pub mod backup;
pub mod bench;
mod client;
pub mod completions;
pub mod config;
pub mod deliveries;
pub mod dev;
pub mod dlq;
pub mod doctor;
pub mod emails;
pub mod endpoints;
pub mod erase;
pub mod event_types;
pub mod events;
mod failure;
pub mod import;
mod input;
pub mod keys;
pub mod ledger;
pub mod listen;
pub mod login;
pub mod migrate;
pub mod nodes;
pub mod pipe;
mod progress;
pub mod publish;
pub mod queues;
mod reference;
pub mod replays;
pub mod restore;
pub mod serve;
pub mod sign;
pub mod sources;
pub mod stats;
mod table;
pub mod tenants;
pub mod trigger;
pub mod users;
pub mod verify;
pub mod version;

pub use failure::{Failure, report, report_usage};

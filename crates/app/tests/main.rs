//! The built binary, from outside: served, configured, killed, with a full disk, started twice.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod alerts {
    mod failing;
    pub mod fire;
    mod notices;
    mod outage;
    pub mod recorder;
    mod restart;
}
mod apply {
    mod file;
}
mod backup {
    mod restore;
}
mod bench {
    mod dashboard;
    mod isolation;
    mod run;
}
mod browser;
mod cells {
    mod document;
    mod hang;
    mod moving;
    mod serve;
}
mod cli {
    mod help;
    mod manual;
    mod output;
}
mod config {
    mod load;
    mod reload;
    mod warnings;
}
mod dashboard {
    mod acts;
    mod endpoint_form;
    mod filters;
    mod forms;
    mod live;
    mod login;
    mod once;
    mod overview;
    mod pages;
    mod pauses;
    mod portal;
    mod portal_entry;
    mod search;
    mod selection;
    mod sources;
    mod states;
    mod users;
}
mod dead_letters {
    mod archive;
    mod import;
    mod lost_endpoint;
}
mod deliveries {
    mod loops;
    mod tail;
}
mod dev {
    mod start;
}
mod doctor {
    mod checks;
}
mod docs {
    pub mod blocks;
    mod documents;
    mod profiles;
    mod samples;
    mod snippets;
}
mod egress {
    mod guard;
}
mod emails {
    mod commands;
    pub mod crash;
}
mod endpoints {
    mod commands;
}
mod erase {
    mod commands;
}
mod events {
    mod crash;
}
mod gateway;
mod http;
mod key_ring {
    mod lost;
    mod rotate;
}
mod ledger {
    mod commands;
}
mod listen {
    mod forward;
}
mod listener {
    mod crowd;
    mod refusals;
    mod slow_clients;
}
mod login {
    mod profiles;
    mod tls;
}
mod nodes {
    mod breakers;
    mod clocks;
    mod failover;
    mod fleet;
    mod handover;
    mod limits;
    mod live_tail;
    mod load;
    mod pooler;
    mod sessions;
    mod settings;
    mod view;
}
mod operator;
mod ops {
    pub mod files;
    mod runbook;
}
mod partner;
mod pipe {
    mod invalid_lines;
}
mod pipe_process;
mod publish {
    mod commands;
}
mod receipts {
    mod receive;
}
mod receiver;
mod scripted_receiver;
mod secrets {
    mod canary;
}
mod serve {
    mod logs;
    mod metrics;
    mod start;
    mod stop;
}
mod sign {
    mod vectors;
}
mod sources {
    mod commands;
    mod own_targets;
}
mod sql {
    mod publish;
}
mod stats {
    mod commands;
}
mod store {
    mod disk_errors;
}
mod tenants {
    mod environment;
}
mod traces {
    mod export;
}
mod users {
    mod commands;
}

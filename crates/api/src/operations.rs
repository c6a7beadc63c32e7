//! The operations of the API: a folder for each noun, a file for each operation.

pub mod alerts;
pub mod api_keys;
pub mod audit;
pub mod captured_emails;
pub mod cells;
pub mod dead_letters;
pub mod deliveries;
pub mod egress_addresses;
pub mod emails;
pub mod encryption_keys;
pub mod erasures;
pub mod event_types;
pub mod events;
pub mod ledger;
pub mod nodes;
pub mod portal_links;
pub mod queues;
pub mod rejected_events;
pub mod replays;
pub mod sources;
pub mod stats;
pub mod suppressions;
pub mod tenants;
pub mod usage;
pub mod users;
pub mod webhooks;

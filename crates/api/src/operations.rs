//! The operations of the API: a folder for each noun, a file for each operation, and the table of all.

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
pub mod idempotency_key;
pub mod ledger;
pub mod moves;
pub mod nodes;
pub mod portal_links;
pub mod queues;
pub mod rejected_events;
pub mod replays;
pub mod search;
pub mod sources;
pub mod stats;
pub mod suppressions;
pub mod tenants;
pub mod usage;
pub mod users;
pub mod webhooks;

use std::{collections::HashMap, sync::LazyLock};

use crate::{
    audit::{LEFT_OUT, LOG_IN},
    route::Route,
};

/// Every operation once.
pub const ROUTES: &[&Route] = &[
    &events::publish::ROUTE,
    &events::batch::ROUTE,
    &events::list::ROUTE,
    &events::get::ROUTE,
    &events::cancel::ROUTE,
    &erasures::create::ROUTE,
    &rejected_events::list::ROUTE,
    &rejected_events::retry::ROUTE,
    &rejected_events::delete::ROUTE,
    &webhooks::create::ROUTE,
    &webhooks::list::ROUTE,
    &webhooks::get::ROUTE,
    &webhooks::replace::ROUTE,
    &webhooks::change::ROUTE,
    &webhooks::delete::ROUTE,
    &webhooks::secret::ROUTE,
    &webhooks::rotate_secret::ROUTE,
    &webhooks::test::ROUTE,
    &webhooks::test::BY_BODY,
    &webhooks::pause::PAUSE,
    &webhooks::pause::RESUME,
    &egress_addresses::list::ROUTE,
    &event_types::list::ROUTE,
    &event_types::create::ROUTE,
    &event_types::get::ROUTE,
    &event_types::replace::ROUTE,
    &event_types::delete::ROUTE,
    &deliveries::list::ROUTE,
    &deliveries::list::OF_WEBHOOK,
    &deliveries::tail::ROUTE,
    &deliveries::export::ROUTE,
    &deliveries::get::ROUTE,
    &deliveries::get::OF_WEBHOOK,
    &deliveries::retry::ROUTE,
    &deliveries::cancel::ROUTE,
    &deliveries::check_signature::ROUTE,
    &deliveries::retry::OF_WEBHOOK,
    &emails::send::ROUTE,
    &emails::list::ROUTE,
    &emails::get::ROUTE,
    &suppressions::list::ROUTE,
    &suppressions::add::ROUTE,
    &suppressions::import::ROUTE,
    &suppressions::remove::ROUTE,
    &replays::create::ROUTE,
    &replays::list::ROUTE,
    &replays::get::ROUTE,
    &replays::cancel::ROUTE,
    &dead_letters::list::ROUTE,
    &dead_letters::stats::ROUTE,
    &dead_letters::export::ROUTE,
    &dead_letters::import::ROUTE,
    &dead_letters::get::ROUTE,
    &dead_letters::replay::ONE,
    &dead_letters::replay::ROUTE,
    &dead_letters::purge::ONE,
    &dead_letters::purge::ROUTE,
    &search::find::ROUTE,
    &stats::get::ROUTE,
    &stats::webhook::ROUTE,
    &stats::webhooks::ROUTE,
    &stats::tenants::ROUTE,
    &queues::list::ROUTE,
    &queues::pause::PAUSE,
    &queues::pause::RESUME,
    &nodes::list::ROUTE,
    &cells::list::ROUTE,
    &cells::add::ROUTE,
    &cells::change::ROUTE,
    &cells::remove::ROUTE,
    &cells::tenants::ROUTE,
    &tenants::create::ROUTE,
    &tenants::list::ROUTE,
    &tenants::get::ROUTE,
    &tenants::change::ROUTE,
    &tenants::delete::ROUTE,
    &tenants::pause::PAUSE,
    &tenants::pause::RESUME,
    &moves::begin::ROUTE,
    &moves::get::ROUTE,
    &moves::take_back::ROUTE,
    &api_keys::create::ROUTE,
    &api_keys::list::ROUTE,
    &api_keys::revoke::ROUTE,
    &api_keys::own::LIST,
    &api_keys::own::CREATE,
    &api_keys::own::REVOKE,
    &portal_links::create::ROUTE,
    &portal_links::revoke::ROUTE,
    &usage::get::ROUTE,
    &encryption_keys::list::ROUTE,
    &encryption_keys::rotate::ROUTE,
    &sources::create::ROUTE,
    &sources::list::ROUTE,
    &sources::get::ROUTE,
    &sources::change::ROUTE,
    &sources::delete::ROUTE,
    &sources::keys::LIST,
    &sources::keys::PUT,
    &sources::keys::DELETE,
    &sources::import::ROUTE,
    &sources::receipts::LIST,
    &sources::receipts::GET,
    &sources::proof::ROUTE,
    &sources::retry::ONE,
    &sources::retry::MANY,
    &sources::rejections::OF_SOURCE,
    &sources::rejections::OF_UNKNOWN_PARTNERS,
    &sources::reload::ROUTE,
    &ledger::get::ROUTE,
    &ledger::checkpoint::ROUTE,
    &captured_emails::list::ROUTE,
    &captured_emails::get::ROUTE,
    &users::create::ROUTE,
    &users::list::ROUTE,
    &users::get::ROUTE,
    &users::change::ROUTE,
    &users::delete::ROUTE,
    &users::own_password::ROUTE,
    &audit::list::ROUTE,
    &tenants::notice_emails::GET,
    &tenants::notice_emails::PUT,
    &tenants::metadata::GET,
    &tenants::metadata::PUT,
    &alerts::list::ROUTE,
    &alerts::history::ROUTE,
    &alerts::test::ROUTE,
    &alerts::silences::LIST,
    &alerts::silences::CREATE,
    &alerts::silences::DELETE,
];

/// What an operation of the audit log does; empty for one that this version does not know.
pub fn summary(operation: &str) -> &'static str {
    static SUMMARIES: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
        let login = (LOG_IN, "Log in to the dashboard");
        let left_out = (LEFT_OUT, "Similar acts that were not recorded one by one");
        let routes = ROUTES.iter().map(|route| (route.operation_id, route.summary));
        routes.chain([login, left_out]).collect()
    });
    SUMMARIES.get(operation).copied().unwrap_or_default()
}

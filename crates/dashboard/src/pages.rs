//! The pages, one file each, and their URLs.

mod alert_details;
mod alerts;
mod api_key;
mod api_keys;
mod audit;
mod audit_actor;
mod audit_acts;
mod captured;
mod choose_tenant;
mod confirm;
mod dead_letters;
mod deliveries;
mod delivery;
mod delivery_row;
mod download;
mod emails;
mod endpoint;
mod endpoint_delete;
mod endpoint_facts;
mod endpoint_fields;
mod endpoint_form;
mod endpoint_secret;
mod endpoint_stats;
mod endpoints;
pub mod error;
mod error_texts;
mod event_type_form;
mod event_types;
mod events;
mod first_run;
mod ledger;
mod list;
mod list_filter;
mod login;
mod login_link;
mod mail_parts;
mod nodes;
mod overview;
mod pause;
mod plan;
mod portal;
pub mod portal_error;
mod portal_start;
mod queues;
mod receipt;
mod receipts_retry;
mod rejected_events;
mod rejection_reasons;
mod replays;
mod scan;
mod search;
mod source;
mod source_delete;
mod source_form;
mod source_keys;
mod sources;
mod suppressions;
mod tenant;
mod tenant_delete;
mod tenants;
mod users;
mod waits;

pub use self::portal::router as portal_router;

use std::sync::Arc;

use axum::{
    Router,
    routing::{get, post},
};

use crate::{
    base::Base,
    dashboard::Dashboard,
    handlers::{form, page, setup_page},
};

pub fn router() -> Router<Arc<Dashboard>> {
    of_tenants(Base::Dashboard)
        .route("/ui/login", get(login::form).post(login::submit))
        .route("/ui/login/{token}", get(login_link::open))
        .route("/ui/logout", post(login::log_out))
        .route("/ui/preferences", form(login::preferences))
        .route("/ui/", page(overview::show))
        .route("/ui/sources", page(sources::show))
        .route("/ui/sources/new", setup_page(source_form::new).merge(form(source_form::create)))
        .route("/ui/sources/{partner}", page(source::show))
        .route("/ui/sources/{partner}/created", setup_page(source_form::created))
        .route(
            "/ui/sources/{partner}/edit",
            setup_page(source_form::edit).merge(form(source_form::save)),
        )
        .route("/ui/sources/{partner}/enable", form(source_form::enable))
        .route("/ui/sources/{partner}/disable", form(source_form::disable))
        .route(
            "/ui/sources/{partner}/keys/new",
            setup_page(source_keys::new).merge(form(source_keys::create)),
        )
        .route(
            "/ui/sources/{partner}/keys/{key}/delete",
            setup_page(source_keys::ask_delete).merge(form(source_keys::delete)),
        )
        .route(
            "/ui/sources/{partner}/delete",
            setup_page(source_delete::form).merge(form(source_delete::submit)),
        )
        .route("/ui/sources/{partner}/receipts/retry", form(receipts_retry::submit))
        .route("/ui/sources/{partner}/receipts/{receipt}", page(receipt::show))
        .route("/ui/sources/{partner}/receipts/{receipt}/proof", page(receipt::proof))
        .route("/ui/sources/{partner}/receipts/{receipt}/retry", form(receipt::retry))
        .route(
            "/ui/event-types/new",
            setup_page(event_type_form::new).merge(form(event_type_form::create)),
        )
        .route(
            "/ui/event-types/{event_type}/edit",
            setup_page(event_type_form::edit).merge(form(event_type_form::save)),
        )
        .route("/ui/event-types/{event_type}/delete", form(event_type_form::delete))
        .route("/ui/rejected-events", page(rejected_events::show))
        .route("/ui/rejected-events/{event}/retry", form(rejected_events::retry))
        .route("/ui/rejected-events/{event}/delete", form(rejected_events::delete))
        .route("/ui/ledger", page(ledger::show))
        .route("/ui/ledger/checkpoint", form(ledger::checkpoint))
        .route("/ui/emails", page(emails::show))
        .route("/ui/captured", page(captured::show))
        .route("/ui/captured/{letter}/html", page(captured::html))
        .route("/ui/suppressions", page(suppressions::show))
        .route("/ui/suppressions/add", form(suppressions::add))
        .route("/ui/suppressions/remove", form(suppressions::remove))
        .route("/ui/search", page(search::show))
        .route("/ui/tenants", page(tenants::list))
        .route("/ui/tenants/new", setup_page(tenants::new).merge(form(tenants::create)))
        .route("/ui/tenants/{tenant_name}", page(tenant::show))
        .route("/ui/tenants/{tenant_name}/edit", setup_page(tenant::edit).merge(form(tenant::save)))
        .route(
            "/ui/tenants/{tenant_name}/delete",
            setup_page(tenant_delete::form).merge(form(tenant_delete::submit)),
        )
        .route("/ui/tenants/{tenant_name}/keys", form(tenant::create_key))
        .route(
            "/ui/tenants/{tenant_name}/keys/{key}/revoke",
            setup_page(tenant::ask_revoke_key).merge(form(tenant::revoke_key)),
        )
        .route("/ui/tenants/{tenant_name}/portal", form(tenant::open_portal))
        .route("/ui/tenants/{tenant_name}/portal/revoke", form(tenant::revoke_portal))
        .route("/ui/tenants/{tenant_name}/pause", form(tenant::pause))
        .route("/ui/tenants/{tenant_name}/resume", form(tenant::resume))
        .route("/ui/users", page(users::list).merge(form(users::create)))
        .route("/ui/users/{user}", page(users::show))
        .route("/ui/users/{user}/role", form(users::set_role))
        .route("/ui/users/{user}/password", form(users::set_password))
        .route("/ui/users/{user}/delete", form(users::delete))
        .route("/ui/password", page(users::own_password).merge(form(users::set_own_password)))
        .route("/ui/audit", page(audit::show))
        .route("/ui/nodes", page(nodes::show))
        .route("/ui/alerts", page(alerts::show))
        .route("/ui/alerts/silences", form(alerts::silence))
        .route("/ui/alerts/silences/end", form(alerts::end))
        .route("/ui/alerts/test", form(alerts::test))
        .route("/ui/queues", page(queues::show))
        .route("/ui/queues/{lane}/pause", form(queues::pause))
        .route("/ui/queues/{lane}/resume", form(queues::resume))
}

/// Returns the pages about a tenant's objects, which are in the portal as well.
pub fn of_tenants(base: Base) -> Router<Arc<Dashboard>> {
    let at = |page: &str| base.address(page);
    Router::new()
        .route(&at("/deliveries"), page(deliveries::show))
        .route(&at("/live/deliveries"), page(deliveries::live::stream))
        .route(&at("/deliveries/export"), page(deliveries::export::download))
        .route(&at("/deliveries/selection/retry"), form(deliveries::selection::retry))
        .route(&at("/deliveries/selection/cancel"), form(deliveries::selection::cancel))
        .route(&at("/deliveries/{delivery}"), page(delivery::show))
        .route(&at("/deliveries/{delivery}/retry"), form(delivery::retry))
        .route(&at("/deliveries/{delivery}/stop"), form(delivery::stop))
        .route(&at("/deliveries/{delivery}/signature"), form(delivery::check_signature))
        .route(&at("/events"), page(events::list))
        .route(&at("/events/{event}"), page(events::show))
        .route(&at("/events/{event}/cancel"), form(events::cancel))
        .route(&at("/events/{event}/send"), form(events::send))
        .route(&at("/event-types"), page(event_types::show))
        .route(&at("/endpoints"), page(endpoints::show))
        .route(
            &at("/endpoints/new"),
            setup_page(endpoint_form::new).merge(form(endpoint_form::create)),
        )
        .route(&at("/endpoints/{endpoint}"), page(endpoint::show))
        .route(
            &at("/endpoints/{endpoint}/edit"),
            setup_page(endpoint_form::edit).merge(form(endpoint_form::save)),
        )
        .route(
            &at("/endpoints/{endpoint}/rotate"),
            setup_page(endpoint_secret::rotate_form).merge(form(endpoint_secret::rotate)),
        )
        .route(
            &at("/endpoints/{endpoint}/reveal"),
            setup_page(endpoint_secret::reveal_form).merge(form(endpoint_secret::reveal)),
        )
        .route(&at("/endpoints/{endpoint}/secret"), setup_page(endpoint_secret::show))
        .route(
            &at("/endpoints/{endpoint}/delete"),
            setup_page(endpoint_delete::form).merge(form(endpoint_delete::submit)),
        )
        .route(&at("/endpoints/{endpoint}/test"), form(endpoint::test))
        .route(&at("/endpoints/{endpoint}/pause"), form(endpoint::pause))
        .route(&at("/endpoints/{endpoint}/resume"), form(endpoint::resume))
        .route(&at("/endpoints/{endpoint}/disable"), form(endpoint::disable))
        .route(&at("/endpoints/{endpoint}/enable"), form(endpoint::enable))
        .route(&at("/dead-letters"), page(dead_letters::show))
        .route(&at("/dead-letters/replay"), form(dead_letters::replay))
        .route(&at("/dead-letters/export"), page(dead_letters::export::download))
        .route(&at("/dead-letters/selection"), form(dead_letters::selection::replay))
        .route(&at("/dead-letters/purge"), form(dead_letters::purge::submit))
        .route(&at("/replays"), page(replays::list))
        .route(&at("/replays/{replay}"), page(replays::show))
        .route(&at("/replays/{replay}/cancel"), form(replays::cancel))
}

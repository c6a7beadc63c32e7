//! The pages, one file each, and their addresses.

mod captured;
mod choose_tenant;
mod dead_letters;
mod deliveries;
mod delivery;
mod delivery_row;
mod emails;
mod endpoint;
mod endpoint_delete;
mod endpoint_facts;
mod endpoint_form;
mod endpoint_secret;
mod endpoint_stats;
mod endpoints;
pub mod error;
mod event_types;
mod events;
mod first_run;
mod ledger;
mod list;
mod login;
mod login_link;
mod overview;
mod queues;
mod replays;
mod search;
mod source;
mod sources;
mod suppressions;
mod tenant;
mod tenants;

use std::sync::Arc;

use axum::{Router, routing::get};

use crate::dashboard::{Dashboard, form, page};

pub fn router() -> Router<Arc<Dashboard>> {
    Router::new()
        .route("/ui/login", get(login::form).post(login::submit))
        .route("/ui/login/{token}", get(login_link::open))
        .route("/ui/logout", form(login::log_out))
        .route("/ui/preferences", form(login::preferences))
        .route("/ui/", page(overview::show))
        .route("/ui/deliveries", page(deliveries::show))
        .route("/ui/live/deliveries", page(deliveries::live::stream))
        .route("/ui/deliveries/{delivery}", page(delivery::show))
        .route("/ui/deliveries/{delivery}/retry", form(delivery::retry))
        .route("/ui/events", page(events::list))
        .route("/ui/events/{event}", page(events::show))
        .route("/ui/event-types", page(event_types::show))
        .route("/ui/endpoints", page(endpoints::show))
        .route("/ui/endpoints/new", page(endpoint_form::new).merge(form(endpoint_form::create)))
        .route("/ui/endpoints/{endpoint}", page(endpoint::show))
        .route(
            "/ui/endpoints/{endpoint}/edit",
            page(endpoint_form::edit).merge(form(endpoint_form::save)),
        )
        .route(
            "/ui/endpoints/{endpoint}/rotate",
            page(endpoint_secret::rotate_form).merge(form(endpoint_secret::rotate)),
        )
        .route(
            "/ui/endpoints/{endpoint}/reveal",
            page(endpoint_secret::reveal_form).merge(form(endpoint_secret::reveal)),
        )
        .route(
            "/ui/endpoints/{endpoint}/delete",
            page(endpoint_delete::form).merge(form(endpoint_delete::submit)),
        )
        .route("/ui/endpoints/{endpoint}/test", form(endpoint::test))
        .route("/ui/endpoints/{endpoint}/pause", form(endpoint::pause))
        .route("/ui/endpoints/{endpoint}/resume", form(endpoint::resume))
        .route("/ui/endpoints/{endpoint}/disable", form(endpoint::disable))
        .route("/ui/endpoints/{endpoint}/enable", form(endpoint::enable))
        .route("/ui/dead-letters", page(dead_letters::show))
        .route("/ui/dead-letters/replay", form(dead_letters::replay))
        .route("/ui/replays", page(replays::list))
        .route("/ui/replays/{replay}", page(replays::show))
        .route("/ui/replays/{replay}/cancel", form(replays::cancel))
        .route("/ui/sources", page(sources::show))
        .route("/ui/sources/{partner}", page(source::show))
        .route("/ui/sources/{partner}/receipts/{receipt}", page(source::receipt))
        .route("/ui/sources/{partner}/receipts/{receipt}/retry", form(source::retry))
        .route("/ui/ledger", page(ledger::show))
        .route("/ui/ledger/checkpoint", form(ledger::checkpoint))
        .route("/ui/emails", page(emails::show))
        .route("/ui/captured", page(captured::show))
        .route("/ui/suppressions", page(suppressions::show))
        .route("/ui/suppressions/add", form(suppressions::add))
        .route("/ui/suppressions/remove", form(suppressions::remove))
        .route("/ui/search", page(search::show))
        .route("/ui/tenants", page(tenants::list))
        .route("/ui/tenants/new", page(tenants::new).merge(form(tenants::create)))
        .route("/ui/tenants/{tenant_name}", page(tenant::show))
        .route("/ui/tenants/{tenant_name}/edit", page(tenant::edit).merge(form(tenant::save)))
        .route("/ui/tenants/{tenant_name}/keys", form(tenant::create_key))
        .route("/ui/tenants/{tenant_name}/keys/{key}/revoke", form(tenant::revoke_key))
        .route("/ui/tenants/{tenant_name}/pause", form(tenant::pause))
        .route("/ui/tenants/{tenant_name}/resume", form(tenant::resume))
        .route("/ui/queues", page(queues::show))
        .route("/ui/queues/{lane}/pause", form(queues::pause))
        .route("/ui/queues/{lane}/resume", form(queues::resume))
}

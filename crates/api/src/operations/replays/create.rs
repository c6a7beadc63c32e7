//! `POST /v1/replays`: sends past deliveries or events again, by filter.

use gancho_access::Right;
use gancho_domain::{EndpointId, EventId, FieldError, Status, Time};
use gancho_outbound::replay::{NewReplay, ReplayFilter, ReplayItems};
use http::Method;

use super::{TAG, view::ReplayJob};
use crate::{
    answer::Answer,
    codes,
    input::{Request, field::ResourceKind, request},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

request! {
    /// Conditions that select what a replay sends again. All of them must hold.
    #[derive(Default, PartialEq)]
    struct ReplayFilterBody {
        /// Only deliveries to this webhook.
        optional webhook_id: String as id(ResourceKind::Webhook),
        /// Only deliveries with this status.
        optional status: Status as status(),
        /// Only events of this type.
        optional event_type: String as id(ResourceKind::EventType),
        /// Only events with these ids, or their deliveries.
        optional event_ids: Vec<String> as texts(1_000, 64),
        /// Only deliveries or events created at or after this time.
        optional since: Time as time(),
        /// Only deliveries or events created before this time. Default and maximum: now.
        optional until: Time as time(),
    }
}

request! {
    /// The options of every replay.
    pub struct ReplayOptions {
        /// Maximum deliveries per second. Default: 100.
        optional rate: u32 as count(1, 1_000),
        /// `true` to count what would be sent, without sending it.
        optional dry_run: bool as flag(),
    }
}

request! {
    struct ReplayBody {
        /// What to replay. `deliveries` (default) are sent again to their webhook; `events` are sent to the webhook in
        /// `to`, even if it was created later.
        optional of: String as choice(&["deliveries", "events"]),
        /// What to replay: at least one condition, unless `all` is true.
        optional filter: ReplayFilterBody as object::<ReplayFilterBody>(),
        /// `true` for only those events that the webhook in `to` is subscribed to and that were not sent to it yet.
        /// Requires `of: events`.
        optional missing: bool as flag(),
        /// `true` to replay everything. Required if no filter is given.
        optional all: bool as flag(),
        /// Id of the webhook to send to, instead of the original one. Required with `of: events`.
        optional to: String as id(ResourceKind::Webhook),
        flatten options: ReplayOptions,
    }
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/replays",
    operation_id: "createReplay",
    needs: Needs::Tenant(Right::Manage),
    takes: Takes::Body(ReplayBody::FIELDS),
    gives: Gives::accepted::<ReplayJob>(
        "The replay job; follow its progress at `GET /v1/replays/{id}`.",
    ),
    refuses: &[&codes::NOT_FOUND, &codes::MISSING_FIELD, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Replay deliveries or events",
    about: "Starts a background job that sends deliveries or events again, oldest first. Webhooks with `ordering: per_subject` still receive each subject in order. Without a filter, `all` is required. With `dry_run`, the job only counts what would be sent.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let principal = call.tenant()?;
    let body: ReplayBody = call.parse_body()?;
    let filter = body.filter.unwrap_or_default();
    if filter == ReplayFilterBody::default() && body.all != Some(true) {
        return Err(unfiltered());
    }
    let of = match body.of.as_deref() {
        Some("events") => ReplayItems::Events,
        _ => ReplayItems::Deliveries,
    };
    let is_missing = body.missing.unwrap_or(false);
    if is_missing && of != ReplayItems::Events {
        return Err(Problem::field(
            "/missing",
            "`missing` selects events; add `\"of\": \"events\"`",
        ));
    }
    let new = NewReplay {
        filter: ReplayFilter {
            of,
            is_missing,
            endpoint: webhook(&call, filter.webhook_id.as_deref()).await?,
            status: filter.status,
            event_type: filter.event_type,
            events: events(filter.event_ids)?,
            since: filter.since,
            until: filter.until,
            ..ReplayFilter::default()
        },
        to: webhook(&call, body.to.as_deref()).await?,
        rate: body.options.rate,
        dry_run: body.options.dry_run.unwrap_or(false),
    };
    let replay = call.api.replays.create(principal.scope(), new).await?;
    ReplayJob::from(replay).accepted()
}

/// A client that loses its filter by mistake must not replay everything.
fn unfiltered() -> Problem {
    let error = FieldError::new(
        "missing_field",
        "/filter",
        "no filter given; add a condition, or `\"all\": true` to replay everything",
    );
    Problem::invalid_fields(vec![error])
}

/// A webhook of the tenant. Another tenant's is answered like one that does not exist.
async fn webhook(call: &Call, id: Option<&str>) -> Result<Option<EndpointId>, Problem> {
    let Some(text) = id else { return Ok(None) };
    let not_found = || Problem::not_found(ResourceKind::Webhook);
    let id: EndpointId = text.parse().map_err(|_| not_found())?;
    let found = call.api.store.endpoint(call.tenant()?.scope(), id).await?;
    found.map(|_| Some(id)).ok_or_else(not_found)
}

fn events(ids: Option<Vec<String>>) -> Result<Vec<EventId>, Problem> {
    let Some(texts) = ids else { return Ok(Vec::new()) };
    if texts.is_empty() {
        let hint = "`event_ids` must not be empty; name at least one event, or leave it out";
        return Err(Problem::field("/filter/event_ids", hint));
    }
    let ids = texts.iter().enumerate().map(|(index, text)| {
        text.parse().map_err(|error: gancho_domain::id::IdParseError| {
            Problem::field(&format!("/filter/event_ids/{index}"), error.to_string())
        })
    });
    ids.collect()
}

//! `POST /v1/replays`: sends past deliveries or events again, by filter.

use gancho_access::Right;
use gancho_domain::{EndpointId, EventId, FieldError};
use gancho_outbound::replay::{NewReplay, ReplayFilter, ReplayOf};
use http::Method;

use super::{TAG, view::ReplayJob};
use crate::{
    answer::Answer,
    codes,
    input::{Field, Kind, Values, field::Noun},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

const FILTER: &[Field] = &[
    Field::new("webhook_id", Kind::Id(Noun::Webhook), "Only deliveries to this webhook."),
    Field::new(
        "status",
        Kind::Choice(&["pending", "retrying", "delivered", "failed"]),
        "Only deliveries with this status.",
    ),
    Field::new("event_type", Kind::Id(Noun::EventType), "Only events of this type."),
    Field::new("event_ids", Kind::Texts { max: 1_000, max_length: 64 }, "Only these events."),
    Field::new("since", Kind::Time, "Only deliveries or events created at or after this time."),
    Field::new(
        "until",
        Kind::Time,
        "Only deliveries or events created before this time. Default and maximum: now.",
    ),
];
pub const RATE: Field = Field::new(
    "rate",
    Kind::Count { min: 1, max: 1_000 },
    "Maximum deliveries per second. Default: 100.",
);
pub const DRY_RUN: Field =
    Field::new("dry_run", Kind::Flag, "Count what would be sent, without sending it.");
const FIELDS: &[Field] = &[
    Field::new(
        "of",
        Kind::Choice(&["deliveries", "events"]),
        "What to replay. `deliveries` (default) are sent again to their webhook; `events` are sent to the webhook in `to`, even if it was created later.",
    ),
    Field::new(
        "filter",
        Kind::Object(FILTER),
        "What to replay: at least one condition, unless `all` is true.",
    ),
    Field::new("all", Kind::Flag, "`true` to replay everything. Required if no filter is given."),
    Field::new("to", Kind::Id(Noun::Webhook), "Webhook to send to, instead of the original one."),
    RATE,
    DRY_RUN,
];

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/replays",
    needs: Needs::Tenant(Right::Manage),
    takes: Takes::Body(FIELDS),
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
    let values = call.values()?;
    let everything = Values::none(FILTER);
    let filter = values.object("filter").unwrap_or(&everything);
    if filter.is_empty() && values.flag("all") != Some(true) {
        return Err(unfiltered());
    }
    let new = NewReplay {
        filter: ReplayFilter {
            of: match values.text("of") {
                Some("events") => ReplayOf::Events,
                _ => ReplayOf::Deliveries,
            },
            endpoint: webhook(&call, filter, "webhook_id").await?,
            status: filter.text("status").and_then(|status| status.parse().ok()),
            event_type: filter.string("event_type"),
            events: events(filter)?,
            since: filter.time("since"),
            until: filter.time("until"),
            ..ReplayFilter::default()
        },
        to: webhook(&call, &values, "to").await?,
        rate: values.count("rate").map(|rate| rate as u32),
        dry_run: values.flag("dry_run").unwrap_or(false),
    };
    let replay = call.api.replays.create(principal.scope(), new).await?;
    Answer::accepted(&ReplayJob::from(replay))
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
async fn webhook(
    call: &Call,
    values: &Values<'_>,
    name: &str,
) -> Result<Option<EndpointId>, Problem> {
    let Some(text) = values.text(name) else { return Ok(None) };
    let not_found = || Problem::not_found(Noun::Webhook);
    let id: EndpointId = text.parse().map_err(|_| not_found())?;
    let found = call.api.store.endpoint(call.tenant()?.scope(), id).await?;
    found.map(|_| Some(id)).ok_or_else(not_found)
}

fn events(values: &Values<'_>) -> Result<Vec<EventId>, Problem> {
    let Some(texts) = values.texts("event_ids") else { return Ok(Vec::new()) };
    if texts.is_empty() {
        let hint = "`event_ids` must not be empty; name at least one event, or leave it out";
        return Err(Problem::field("/filter/event_ids", hint));
    }
    let ids = texts.iter().enumerate().map(|(index, text)| {
        text.parse().map_err(|error: gancho_domain::id::NotAnId| {
            Problem::field(&format!("/filter/event_ids/{index}"), error.to_string())
        })
    });
    ids.collect()
}

//! `POST /v1/replays`: past deliveries or events again, by filter.

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
    Field::new("event_type", Kind::Id(Noun::EventType), "Only of this type."),
    Field::new(
        "event_ids",
        Kind::Texts { most: 1_000, longest: 64 },
        "These events and no others.",
    ),
    Field::new("since", Kind::Time, "Made at or after."),
    Field::new("until", Kind::Time, "Made before; now where left out or later."),
];
pub const RATE: Field = Field::new(
    "rate",
    Kind::Count { least: 1, most: 1_000 },
    "Maximum number per second. Default: 100.",
);
pub const DRY_RUN: Field = Field::new("dry_run", Kind::Flag, "Count, and send nothing.");
const FIELDS: &[Field] = &[
    Field::new(
        "of",
        Kind::Choice(&["deliveries", "events"]),
        "`deliveries` (where left out): to where they went. `events`: to the webhook in `to`, though it may have been made later.",
    ),
    Field::new(
        "filter",
        Kind::Object(FILTER),
        "Which of them: at least one condition, or else `all`.",
    ),
    Field::new("all", Kind::Flag, "`true` where no filter is given and all of them are meant."),
    Field::new("to", Kind::Id(Noun::Webhook), "To this webhook instead of where they went."),
    RATE,
    DRY_RUN,
];

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/replays",
    needs: Needs::Tenant(Right::Manage),
    takes: Takes::Body(FIELDS),
    gives: Gives::accepted::<ReplayJob>("The replay: its progress is at `GET /v1/replays/{id}`."),
    refuses: &[&codes::NOT_FOUND, &codes::MISSING_FIELD, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Replay deliveries or events",
    about: "The oldest go first. At a webhook with `ordering: per_subject`, those of one subject never overtake each other. Without a filter it asks for `all`. With `dry_run`, what would be sent is counted and nothing is done.",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let acting = call.tenant()?;
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
    let replay = call.api.replays.create(acting.scope(), new).await?;
    Answer::accepted(&ReplayJob::from(replay))
}

/// A client whose filter got lost on the way must not send everything again.
fn unfiltered() -> Problem {
    let fault = FieldError::new(
        "missing_field",
        "/filter",
        "no filter is given: add a condition, or `\"all\": true` to replay everything",
    );
    Problem::faulty(vec![fault])
}

/// One of the tenant's own; another's is as one that is not there.
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
        let hint = "the list is empty: name at least one event, or leave it out";
        return Err(Problem::field("/filter/event_ids", hint));
    }
    let ids = texts.iter().enumerate().map(|(index, text)| {
        text.parse().map_err(|fault: gancho_domain::id::IdParseError| {
            Problem::field(&format!("/filter/event_ids/{index}"), fault.to_string())
        })
    });
    ids.collect()
}

//! The bodies of a webhook.

use gancho_domain::{RateDraft, RetryDraft};
use gancho_outbound::EndpointDraft;

use crate::{
    input::{Field, Kind, Values, body},
    problem::Problem,
};

const URL: Field = Field::new(
    "url",
    Kind::Text { min: 1, max: 2_048 },
    "URL to deliver to. Must be HTTPS and not a private address, unless the operator allows it.",
);
const EVENTS: Field = Field::new(
    "events",
    Kind::Texts { max: 100, max_length: 128 },
    "Event types to subscribe to: names, `invoice.*` for a prefix, or `*` for all.",
);
const NAME: Field = Field::new("name", Kind::Text { min: 0, max: 128 }, "Display name.");
const SECRET: Field = Field::new(
    "secret",
    Kind::Secret { max: 256 },
    "Signing secret, at least 16 characters. Default: a generated one.",
);
const HEADERS: Field = Field::new(
    "headers",
    Kind::TextMap { max: 100, max_length: 8_192 },
    "Custom headers for every delivery. The values are stored encrypted and never shown again.",
);
const IS_ACTIVE: Field = Field::new(
    "is_active",
    Kind::Flag,
    "Whether events are delivered to the webhook. Default: `true`.",
);
const PROFILE: Field = Field::new(
    "profile",
    Kind::Text { min: 1, max: 64 },
    "Format of deliveries: `standard`, `email-gateway`, `auracore`, `saas`, or a profile defined by the operator.",
);
const RETRY: Field = Field::new(
    "retry",
    Kind::Object(RETRY_FIELDS),
    "Retry schedule: `{\"schedule\": [\"1s\", \"5m\"]}` or `{\"base\": \"1s\", \"max\": \"60s\", \"attempts\": 5}`. Default: defined by the profile.",
)
.nullable();
pub const RETRY_FIELDS: &[Field] = &[
    Field::new(
        "schedule",
        Kind::Texts { max: 30, max_length: 40 },
        "Delays between attempts; one fewer than the number of attempts.",
    ),
    Field::new(
        "base",
        Kind::Text { min: 1, max: 40 },
        "First delay; each following delay is twice as long.",
    ),
    Field::new("max", Kind::Text { min: 1, max: 40 }, "Maximum delay."),
    Field::new("attempts", Kind::Count { min: 1, max: 31 }, "Maximum number of attempts."),
];
const TIMEOUT: Field = Field::new(
    "timeout",
    Kind::Text { min: 1, max: 40 },
    "Time limit of an attempt, e.g. `15s`. Default: defined by the profile.",
)
.nullable();
const RATE_LIMIT: Field = Field::new(
    "rate_limit",
    Kind::Object(RATE_FIELDS),
    "Rate limit of deliveries. Deliveries beyond it wait; they do not fail.",
)
.nullable();
pub const RATE_FIELDS: &[Field] = &[
    Field::new("count", Kind::Count { min: 1, max: 1_000_000 }, "Maximum number per window.")
        .required(),
    Field::new("per", Kind::Text { min: 1, max: 40 }, "Length of the window, e.g. `1s`.")
        .required(),
];
const MAX_IN_FLIGHT: Field = Field::new(
    "max_in_flight",
    Kind::Count { min: 1, max: 512 },
    "Maximum number of concurrent deliveries.",
)
.nullable();
const ORDERING: Field = Field::new(
    "ordering",
    Kind::Choice(&["best_effort", "per_subject"]),
    "`best_effort` (default), or `per_subject`: the next event of a subject waits until the previous one is delivered or has failed permanently.",
);
const METADATA: Field = Field::new(
    "metadata",
    Kind::JsonObject { max: 16 * 1024 },
    "Custom JSON object, stored with the webhook.",
);

/// For one that is changed in part.
pub const PART: &[Field] = &with(URL, EVENTS);
/// For a new one, and for one that is replaced as a whole.
pub const WHOLE: &[Field] = &with(URL.required(), EVENTS.required());

const fn with(url: Field, events: Field) -> [Field; 13] {
    [
        url,
        events,
        NAME,
        SECRET,
        HEADERS,
        IS_ACTIVE,
        PROFILE,
        RETRY,
        TIMEOUT,
        RATE_LIMIT,
        MAX_IN_FLIGHT,
        ORDERING,
        METADATA,
    ]
}

pub fn draft(values: &Values<'_>) -> Result<EndpointDraft, Problem> {
    Ok(EndpointDraft {
        url: values.string("url"),
        events: values.texts("events"),
        name: values.string("name"),
        secret: values.string("secret"),
        headers: values.text_map("headers"),
        is_active: values.flag("is_active"),
        profile: values.string("profile"),
        retry: maybe(values, "retry", |values| values.object("retry").map(retry).transpose())?,
        timeout: maybe(values, "timeout", |values| Ok(values.string("timeout")))?,
        rate_limit: maybe(values, "rate_limit", |values| {
            Ok(values.object("rate_limit").and_then(rate))
        })?,
        max_in_flight: maybe(values, "max_in_flight", |values| {
            Ok(values.count("max_in_flight").map(|count| count as u32))
        })?,
        ordering: values.string("ordering"),
        metadata: values.json("metadata").and_then(body::raw),
    })
}

/// Not given, given as null, or given.
pub fn maybe<T>(
    values: &Values<'_>,
    name: &str,
    read: impl Fn(&Values<'_>) -> Result<Option<T>, Problem>,
) -> Result<Option<Option<T>>, Problem> {
    if values.is_null(name) {
        return Ok(Some(None));
    }
    Ok(read(values)?.map(Some))
}

pub fn retry(values: &Values<'_>) -> Result<RetryDraft, Problem> {
    let (base, max, attempts) =
        (values.string("base"), values.string("max"), values.count("attempts"));
    match (values.texts("schedule"), base, max, attempts) {
        (Some(delays), None, None, None) => Ok(RetryDraft::Schedule(delays)),
        (None, Some(base), Some(max), Some(attempts)) => {
            Ok(RetryDraft::Exponential { base, max, attempts: attempts as u32 })
        }
        _ => Err(Problem::field(
            "/retry",
            "`retry` must have either `schedule`, or `base`, `max` and `attempts`",
        )),
    }
}

/// Both of its fields are required, so both are there.
pub fn rate(values: &Values<'_>) -> Option<RateDraft> {
    Some(RateDraft { count: values.count("count")? as u32, per: values.string("per")? })
}

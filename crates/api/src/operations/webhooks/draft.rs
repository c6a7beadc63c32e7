//! What may be given for a webhook.

use gancho_domain::{RateDraft, RetryDraft};
use gancho_outbound::EndpointDraft;

use crate::{
    input::{Field, Kind, Values, body},
    problem::Problem,
};

const URL: Field = Field::new(
    "url",
    Kind::Text { least: 1, most: 2_048 },
    "Where to deliver to: HTTPS, and no private address, unless the operator allows more.",
);
const EVENTS: Field = Field::new(
    "events",
    Kind::Texts { most: 100, longest: 128 },
    "The event types it wants: names, `invoice.*` for all below a prefix, `*` for all.",
);
const NAME: Field = Field::new("name", Kind::Text { least: 0, most: 128 }, "For people.");
const SECRET: Field = Field::new(
    "secret",
    Kind::Secret { most: 256 },
    "What deliveries are signed with: at least 16 characters. One is made where it is left out.",
);
const HEADERS: Field = Field::new(
    "headers",
    Kind::TextMap { most: 100, longest: 8_192 },
    "Headers that every delivery carries. Their values are kept sealed and never shown again.",
);
const IS_ACTIVE: Field = Field::new(
    "is_active",
    Kind::Flag,
    "Whether anything is delivered to it; true where left out.",
);
const PROFILE: Field = Field::new(
    "profile",
    Kind::Text { least: 1, most: 64 },
    "How a delivery looks: `standard`, `email-gateway`, `auracore`, `saas`, or one of the operator's.",
);
const RETRY: Field = Field::new(
    "retry",
    Kind::Object(RETRY_FIELDS),
    "When to try again: `{\"schedule\": [\"1s\", \"5m\"]}` or `{\"base\": \"1s\", \"max\": \"60s\", \"attempts\": 5}`. The profile's own where left out.",
)
.nullable();
pub const RETRY_FIELDS: &[Field] = &[
    Field::new(
        "schedule",
        Kind::Texts { most: 30, longest: 40 },
        "The delays between attempts: one fewer than there are attempts.",
    ),
    Field::new(
        "base",
        Kind::Text { least: 1, most: 40 },
        "The first delay; each is twice the one before.",
    ),
    Field::new("max", Kind::Text { least: 1, most: 40 }, "No delay is longer."),
    Field::new("attempts", Kind::Count { least: 1, most: 31 }, "How many attempts there are."),
];
const TIMEOUT: Field = Field::new(
    "timeout",
    Kind::Text { least: 1, most: 40 },
    "How long an attempt may take, such as `15s`. The profile's own where left out.",
)
.nullable();
const RATE_LIMIT: Field = Field::new(
    "rate_limit",
    Kind::Object(RATE_FIELDS),
    "How many deliveries it gets in which time. More wait; they do not fail.",
)
.nullable();
pub const RATE_FIELDS: &[Field] = &[
    Field::new("count", Kind::Count { least: 1, most: 1_000_000 }, "So many").required(),
    Field::new("per", Kind::Text { least: 1, most: 40 }, "in so long, such as `1s`.").required(),
];
const MAX_IN_FLIGHT: Field = Field::new(
    "max_in_flight",
    Kind::Count { least: 1, most: 512 },
    "How many deliveries are on their way to it at once.",
)
.nullable();
const ORDERING: Field = Field::new(
    "ordering",
    Kind::Choice(&["best_effort", "per_subject"]),
    "`per_subject`: the next event of a subject waits until the one before is delivered or dead.",
);
const METADATA: Field = Field::new(
    "metadata",
    Kind::JsonObject { most: 16 * 1024 },
    "Whatever the tenant likes to keep with it.",
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
            "give either `schedule`, or all of `base`, `max` and `attempts`",
        )),
    }
}

/// Both of its fields are required, so both are there.
pub fn rate(values: &Values<'_>) -> Option<RateDraft> {
    Some(RateDraft { count: values.count("count")? as u32, per: values.string("per")? })
}

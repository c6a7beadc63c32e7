//! What may be given for a source or a key.

use gancho_inbound::{KeyDraft, SourceDraft};

use crate::{
    input::{Field, Kind, Values, body},
    operations::webhooks::draft::{RATE_FIELDS, RETRY_FIELDS, maybe, rate, retry},
    problem::Problem,
};

const PARTNER: Field = Field::new(
    "partner",
    Kind::Text { least: 1, most: 63 },
    "The name in the path: lower-case letters, digits and `-`. It never changes.",
)
.required();
const IS_ACTIVE: Field = Field::new("is_active", Kind::Flag, "Whether anything is taken from it.");
const PRESET: Field = Field::new(
    "preset",
    Kind::Json,
    "How it signs: `\"partner\"` (where left out), `\"standard\"`, `\"stripe\"`, `\"github\"`, `\"slack\"`, `\"shopify\"`, `\"meta\"`, `\"microsoft\"`, `{\"sns\": {\"topics\": [\"arn:aws:sns:…\"]}}` (Amazon SNS, and the topics that are taken), `{\"generic\": {…}}` or `{\"token\": {\"header\": …}}`.",
);
const TARGET_URL: Field = Field::new(
    "target_url",
    Kind::Text { least: 1, most: 2_048 },
    "Where receipts go; `http://127.0.0.1:9458/core/hooks/ingest` where left out. `gancho:email-feedback` is the gateway's own outbox, for bounces and complaints that SES reports.",
);
const TARGETS: Field = Field::new(
    "targets",
    Kind::Texts { most: 10, longest: 2_048 },
    "Several places where receipts go, instead of `target_url`; each as that is.",
);
const SCHEMA: Field = Field::new(
    "schema",
    Kind::JsonObject { most: 64 * 1024 },
    "A JSON Schema for bodies. What does not fit is recorded, refused with 422 and not dispatched.",
)
.nullable();
const RATE_LIMIT: Field = Field::new(
    "rate_limit",
    Kind::Object(RATE_FIELDS),
    "How many webhooks each key may bring in which time.",
)
.nullable();
const EVENT_ID_POINTER: Field = Field::new(
    "event_id_pointer",
    Kind::Text { least: 1, most: 256 },
    "A JSON pointer to the event's id in the body, by which it is kept once. The preset's own where left out.",
)
.nullable();
const RETRY: Field = Field::new(
    "retry",
    Kind::Object(RETRY_FIELDS),
    "When to dispatch again; 2 s doubled up to 32 s, ten attempts, where left out.",
)
.nullable();
const DISPATCH_SECRET: Field = Field::new(
    "dispatch_secret",
    Kind::Secret { most: 256 },
    "What dispatched receipts are signed with. One is made where it is left out.",
);
const VERIFY_TOKEN: Field = Field::new(
    "verify_token",
    Kind::Secret { most: 256 },
    "The token with which Meta greets (`hub.verify_token`).",
)
.nullable();

pub const NEW: &[Field] = &[
    PARTNER,
    IS_ACTIVE,
    PRESET,
    TARGET_URL,
    TARGETS,
    SCHEMA,
    RATE_LIMIT,
    EVENT_ID_POINTER,
    RETRY,
    DISPATCH_SECRET,
    VERIFY_TOKEN,
];
pub const PART: &[Field] = &[
    IS_ACTIVE,
    PRESET,
    TARGET_URL,
    TARGETS,
    SCHEMA,
    RATE_LIMIT,
    EVENT_ID_POINTER,
    RETRY,
    DISPATCH_SECRET,
    VERIFY_TOKEN,
];

pub fn draft(values: &Values<'_>, partner: Option<String>) -> Result<SourceDraft, Problem> {
    Ok(SourceDraft {
        partner,
        is_active: values.flag("is_active"),
        preset: values.json("preset").and_then(body::raw),
        target_url: values.string("target_url"),
        targets: values.texts("targets"),
        schema: maybe(values, "schema", |values| Ok(values.json("schema").and_then(body::raw)))?,
        rate_limit: maybe(values, "rate_limit", |values| {
            Ok(values.object("rate_limit").and_then(rate))
        })?,
        event_id_pointer: maybe(values, "event_id_pointer", |values| {
            Ok(values.string("event_id_pointer"))
        })?,
        retry: maybe(values, "retry", |values| values.object("retry").map(retry).transpose())?,
        dispatch_secret: values.string("dispatch_secret"),
        verify_token: maybe(values, "verify_token", |values| Ok(values.string("verify_token")))?,
    })
}

pub const KEY: &[Field] = &[
    Field::new("scheme", Kind::Choice(&["hmac", "ed25519"]), "Which kind of key it is.").required(),
    Field::new("algo", Kind::Choice(&["sha256"]), "The only one there is."),
    Field::new("secret", Kind::Secret { most: 256 }, "For `hmac`: what both sides know."),
    Field::new(
        "encoding",
        Kind::Choice(&["raw", "base64", "hex"]),
        "How the secret is written; `raw` where left out.",
    ),
    Field::new(
        "publicKey",
        Kind::Text { least: 1, most: 256 },
        "For `ed25519`: the partner's public key, in base64.",
    ),
    Field::new("not_before", Kind::Time, "It is good from then on.").nullable(),
    Field::new("not_after", Kind::Time, "It is good until then.").nullable(),
    Field::new(
        "replaces",
        Kind::Text { least: 1, most: 128 },
        "The id of a key that this one follows: it ends after `overlap`.",
    ),
    Field::new("overlap", Kind::Text { least: 1, most: 40 }, "`24h` where left out."),
];

pub fn key(values: &Values<'_>) -> KeyDraft {
    KeyDraft {
        scheme: values.string("scheme"),
        algo: values.string("algo"),
        secret: values.string("secret"),
        encoding: values.string("encoding"),
        public_key: values.string("publicKey"),
        not_before: values.time("not_before"),
        not_after: values.time("not_after"),
        replaces: values.string("replaces"),
        overlap: values.string("overlap"),
    }
}

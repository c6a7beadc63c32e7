//! The bodies of a source and of a key.

use gancho_inbound::{KeyDraft, SourceDraft};

use crate::{
    input::{Field, Kind, Values, body},
    operations::webhooks::draft::{RATE_FIELDS, RETRY_FIELDS, maybe, rate, retry},
    problem::Problem,
};

const PARTNER: Field = Field::new(
    "partner",
    Kind::Text { min: 1, max: 63 },
    "Name of the partner, used in the URL: lower-case letters, digits and `-`. Cannot be changed.",
)
.required();
const IS_ACTIVE: Field =
    Field::new("is_active", Kind::Flag, "Whether webhooks from the partner are accepted.");
const PRESET: Field = Field::new(
    "preset",
    Kind::Json,
    "How the partner signs: `\"partner\"` (default), `\"standard\"`, `\"stripe\"`, `\"github\"`, `\"slack\"`, `\"shopify\"`, `\"meta\"`, `\"microsoft\"`, `{\"sns\": {\"topics\": [\"arn:aws:sns:…\"]}}` (Amazon SNS, with the accepted topics), `{\"generic\": {…}}` or `{\"token\": {\"header\": …}}`.",
);
const TARGET_URL: Field = Field::new(
    "target_url",
    Kind::Text { min: 1, max: 2_048 },
    "URL that receipts are dispatched to. Default: `http://127.0.0.1:9458/core/hooks/ingest`. `gancho:email-feedback` processes bounces and complaints reported by SES.",
);
const TARGETS: Field = Field::new(
    "targets",
    Kind::Texts { max: 10, max_length: 2_048 },
    "Several target URLs, instead of `target_url`.",
);
const SCHEMA: Field = Field::new(
    "schema",
    Kind::JsonObject { max: 64 * 1024 },
    "JSON Schema for request bodies. A webhook that does not match is recorded, refused with 422 and not dispatched.",
)
.nullable();
const RATE_LIMIT: Field = Field::new(
    "rate_limit",
    Kind::Object(RATE_FIELDS),
    "Rate limit per key for incoming webhooks.",
)
.nullable();
const EVENT_ID_POINTER: Field = Field::new(
    "event_id_pointer",
    Kind::Text { min: 1, max: 256 },
    "JSON pointer to the event id in the body, used for deduplication. Default: defined by the preset.",
)
.nullable();
const RETRY: Field = Field::new(
    "retry",
    Kind::Object(RETRY_FIELDS),
    "Retry schedule of dispatches. Default: 10 attempts, with delays from 2s doubling up to 32s.",
)
.nullable();
const DISPATCH_SECRET: Field = Field::new(
    "dispatch_secret",
    Kind::Secret { max: 256 },
    "Secret that dispatched receipts are signed with. Default: a generated one.",
);
const VERIFY_TOKEN: Field = Field::new(
    "verify_token",
    Kind::Secret { max: 256 },
    "Verify token of Meta's subscription handshake (`hub.verify_token`).",
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
    Field::new("scheme", Kind::Choice(&["hmac", "ed25519"]), "Signature scheme of the key.")
        .required(),
    Field::new(
        "algo",
        Kind::Choice(&["sha256"]),
        "Hash algorithm of `hmac`. Only `sha256` is supported.",
    ),
    Field::new("secret", Kind::Secret { max: 256 }, "Shared secret. Required for `hmac`."),
    Field::new(
        "encoding",
        Kind::Choice(&["raw", "base64", "hex"]),
        "Encoding of `secret`. Default: `raw`.",
    ),
    Field::new(
        "publicKey",
        Kind::Text { min: 1, max: 256 },
        "The partner's public key, in base64. Required for `ed25519`.",
    ),
    Field::new("not_before", Kind::Time, "The key is not valid before this time.").nullable(),
    Field::new("not_after", Kind::Time, "The key is not valid after this time.").nullable(),
    Field::new(
        "replaces",
        Kind::Text { min: 1, max: 128 },
        "Id of the key that this one replaces. The old key expires after `overlap`.",
    ),
    Field::new(
        "overlap",
        Kind::Text { min: 1, max: 40 },
        "How long a replaced key stays valid. Default: `24h`.",
    ),
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

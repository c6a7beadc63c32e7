//! Every code that a refusal can bear, as data: the answers, the pages at `/docs/errors/{code}` and
//! `docs/errors.md` are made from this list, so none of them can say something else.

use http::StatusCode;

/// A kind of refusal. The code is part of the contract: never changed, never used for another thing.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    pub code: &'static str,
    pub status: StatusCode,
    pub title: &'static str,
    /// What is wrong when it is given,
    pub means: &'static str,
    /// and what the caller can do about it.
    pub remedy: &'static str,
}

macro_rules! codes {
    ($($name:ident $status:ident $code:literal $title:literal $means:literal $remedy:literal;)*) => {
        $(pub const $name: Code = Code {
            code: $code,
            status: StatusCode::$status,
            title: $title,
            means: $means,
            remedy: $remedy,
        };)*

        /// In the order of their status.
        pub const ALL: &[&Code] = &[$(&$name,)*];
    };
}

codes! {
    BAD_REQUEST BAD_REQUEST "bad_request" "The request cannot be read"
        "What came is not a whole, well-framed HTTP request."
        "Look at the HTTP client or at what stands between it and the gateway; send the request again.";
    BAD_JSON BAD_REQUEST "bad_json" "The body is not JSON"
        "The body is empty, is not UTF-8, is not strict JSON (RFC 8259), is nested more than 64 deep, holds a key of the request twice, or is not an object."
        "Correct it at the byte that the detail names. Comments, trailing commas, NaN and a byte order mark are not JSON.";
    BAD_CURSOR BAD_REQUEST "bad_cursor" "The cursor is not one of this list"
        "A cursor belongs to one list, one tenant and one set of filters, and cannot be made or changed by hand."
        "Begin again without `cursor`, and pass `next_cursor` on as it was given, with the same filters.";
    TENANT_REQUIRED BAD_REQUEST "tenant_required" "It is not said which tenant is meant"
        "The operator's token acts for no tenant by itself, and this call is about one."
        "Send `X-Tenant: <slug or id>` with the operator's token, or use an API key of the tenant.";
    UNAUTHENTICATED UNAUTHORIZED "unauthenticated" "Who is asking is not known"
        "The request carries no credentials."
        "Send `X-API-Key: <key>` or `Authorization: Bearer <key>`.";
    INVALID_CREDENTIALS UNAUTHORIZED "invalid_credentials" "The credentials are not good"
        "The key is unknown, revoked, expired or mistyped. Which of these is not told."
        "Check that the whole key was copied; otherwise ask the operator for a new one.";
    MISSING_SCOPE FORBIDDEN "missing_scope" "The key may not do this"
        "The API key is good but lacks the scope that the call needs."
        "Use a key with the scope that the detail names: `publish`, `read` or `manage`.";
    OPERATOR_ONLY FORBIDDEN "operator_only" "Only the operator may do this"
        "The call is for whoever runs the gateway, and a tenant's key was used."
        "Use the operator's token.";
    DENY_INVALID_ACCESS FORBIDDEN "deny_invalid_access" "The webhook is not verified"
        "The partner or key is unknown, the signature is wrong, or the timestamp is too far from now. Which of these is not told to the sender; the operator sees it."
        "Check the partner's name, the key's id, the secret and the clock; the operator finds the reason with the source's rejections.";
    PLAN_LIMIT FORBIDDEN "plan_limit" "The plan's limit is reached"
        "The tenant's plan allows no more endpoints, or no more events this month. The members `plan`, `limit`, `used` and `resets_at` give the figures."
        "Wait until `resets_at`, remove an endpoint, or have the operator change the plan.";
    NOT_FOUND NOT_FOUND "not_found" "There is no such thing"
        "Nothing of the tenant's has this id. Another tenant's ids answer the same."
        "Check the id and the tenant; the lists show what there is.";
    UNKNOWN_TENANT NOT_FOUND "unknown_tenant" "There is no such tenant"
        "No tenant has the slug or id that the operator named."
        "List them with `GET /v1/tenants`, or make one with `POST /v1/tenants`.";
    NO_ROUTE NOT_FOUND "no_route" "There is no such path"
        "Nothing answers at this path."
        "Compare it with the reference at `/docs`.";
    RECEIVING_OFF NOT_FOUND "receiving_off" "No webhooks are received here"
        "The gateway was started without sources, so that it has none to show."
        "Ask a gateway that receives webhooks.";
    EMAIL_OFF NOT_FOUND "email_off" "No e-mail is sent from here"
        "The gateway knows neither a mail server nor SES."
        "The operator names one in the settings, such as `GANCHO_SMTP_URL`.";
    METHOD_NOT_ALLOWED METHOD_NOT_ALLOWED "method_not_allowed" "The path knows another method"
        "The path is right, but not for this method."
        "The header `Allow` names the methods.";
    SLOW_BODY REQUEST_TIMEOUT "slow_body" "The body came too slowly"
        "The whole of a body must come within its time."
        "Send it faster, or less at once.";
    CONFLICT CONFLICT "conflict" "Conflict"
        "The current state does not allow this: something is switched off, paused or gone, or kept being changed by others."
        "The detail says what is in the way. Read it again, and try again.";
    TAKEN CONFLICT "taken" "The name is in use"
        "Something else has this name already."
        "Choose another name, or use what is there.";
    LEDGER_BROKEN CONFLICT "ledger_broken" "The ledger does not hold"
        "The record of what was received is not what it was: a line was changed or removed, or an old copy was put back. Nothing more is signed for it."
        "Run `gancho ledger verify`, which names the first bad line. Keep the database and the checkpoints as they are, and compare them with a backup.";
    TOO_LARGE PAYLOAD_TOO_LARGE "too_large" "The body is too long"
        "The body is longer than this call takes; what is announced as too long is refused unread."
        "Send fewer events at once, or a reference to the data instead of the data.";
    UNSUPPORTED_MEDIA_TYPE UNSUPPORTED_MEDIA_TYPE "unsupported_media_type" "The body is of another type"
        "Bodies are JSON in UTF-8, not packed."
        "Send `Content-Type: application/json` and no `Content-Encoding`.";
    WRONG_HOST MISDIRECTED_REQUEST "wrong_host" "The request was meant for another host"
        "The gateway listens on this machine only, and the header `Host` names something else: a web page may be trying to reach it under a name of its own."
        "Use `localhost` or the address, or add the name to the allowed hosts in the settings.";
    INVALID_FIELD UNPROCESSABLE_ENTITY "invalid_field" "A field holds something it cannot hold"
        "The request is JSON, but a field is of the wrong type, too long, or means nothing. `errors` names each with its JSON pointer."
        "Correct the fields that `errors` names.";
    UNKNOWN_FIELD UNPROCESSABLE_ENTITY "unknown_field" "A field or parameter is not known"
        "The request holds a name that this call does not take. It is refused rather than ignored, because it is mostly a typing error."
        "Take the name that the detail proposes, or leave it out.";
    MISSING_FIELD UNPROCESSABLE_ENTITY "missing_field" "A field is missing"
        "The request lacks a field that this call needs."
        "Add the fields that `errors` names.";
    SCHEMA_MISMATCH UNPROCESSABLE_ENTITY "schema_mismatch" "The data does not fit its event type"
        "The event type was registered with a JSON Schema, and the data does not fit it. The pointers in `errors` lead into the data."
        "Correct the data, or the schema of the event type.";
    UNKNOWN_EVENT_TYPE UNPROCESSABLE_ENTITY "unknown_event_type" "The event type is not registered"
        "The tenant takes registered event types only (`strict_event_types`)."
        "Register it with `POST /v1/webhooks/events`, or correct the name.";
    RESERVED_EVENT_TYPE UNPROCESSABLE_ENTITY "reserved_event_type" "The event type is the gateway's own"
        "Types that begin with `webhook.` report what happens to deliveries, and only the gateway publishes them."
        "Choose another name.";
    IDEMPOTENCY_MISMATCH UNPROCESSABLE_ENTITY "idempotency_mismatch" "The idempotency key was used for something else"
        "Within 24 hours, a key stands for one event or e-mail. It was used for one with other content."
        "Use a new key for a new event or e-mail.";
    RATE_LIMITED TOO_MANY_REQUESTS "rate_limited" "Too many requests"
        "The tenant publishes faster than it may, or more of its calls are waiting than are taken at a time."
        "Wait for as long as `Retry-After` says.";
    TOO_MANY_FAILURES TOO_MANY_REQUESTS "too_many_failures" "Too many failed logins"
        "Many wrong API keys or operator tokens came from this address, so further ones are checked slowly, and this one was not checked. Credentials that were used from this address before are not affected."
        "Wait for as long as `Retry-After` says, and look for a program that uses an old key.";
    INTERNAL INTERNAL_SERVER_ERROR "internal" "The gateway made a mistake"
        "Something went wrong that is not the caller's fault."
        "Try again; if it stays, give the operator the `request_id`.";
    UNAVAILABLE SERVICE_UNAVAILABLE "unavailable" "Not now"
        "The store cannot be reached, or the gateway is stopping or overloaded. Nothing was accepted."
        "Try again after as long as `Retry-After` says, with the same idempotency key.";
    STORAGE_FULL SERVICE_UNAVAILABLE "storage_full" "The store is full"
        "The store has reached its limit and takes no more events. What it holds is still delivered."
        "Try again later, with the same idempotency key; the operator must make room.";
    LOOP_DETECTED LOOP_DETECTED "loop_detected" "Loop detected"
        "The gateway has sent this request itself: a webhook or a source has the gateway's own address as its URL. Nothing was accepted."
        "Change the URL of the webhook or the target of the source. What other gateways send is accepted.";
}

/// The one of that name.
pub fn find(code: &str) -> Option<&'static Code> {
    ALL.iter().copied().find(|known| known.code == code)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_is_one_word_and_stands_once() {
        let names: BTreeSet<_> = ALL.iter().map(|code| code.code).collect();
        assert_eq!(names.len(), ALL.len());
        for code in ALL {
            assert!(code.code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{code:?}");
            assert!(code.means.ends_with('.') && code.remedy.ends_with('.'), "{code:?}");
            assert!(code.status.is_client_error() || code.status.is_server_error(), "{code:?}");
        }
        assert!(ALL.is_sorted_by_key(|code| code.status), "in the order of their status");
    }
}

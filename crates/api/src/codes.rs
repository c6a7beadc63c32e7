//! Every error code of the API, as data. The responses, the pages at `/docs/errors/{code}` and
//! `docs/errors.md` are generated from this list, so that they cannot disagree.

use http::StatusCode;

/// A kind of error. The code is part of the API contract: it never changes and is never reused.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    pub code: &'static str,
    pub status: StatusCode,
    pub title: &'static str,
    /// What is wrong.
    pub means: &'static str,
    /// What the caller can do about it.
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

        /// All codes, ordered by status.
        pub const ALL: &[&Code] = &[$(&$name,)*];
    };
}

codes! {
    BAD_REQUEST BAD_REQUEST "bad_request" "Malformed request"
        "The request is not well-formed HTTP, or a header that may be sent once is sent several times."
        "Check the HTTP client and any proxy between it and the gateway, then send the request again.";
    BAD_JSON BAD_REQUEST "bad_json" "Malformed JSON"
        "The body is empty, not UTF-8, not strict JSON (RFC 8259), nested more than 64 levels deep, or contains the same key twice."
        "Fix the body at the byte offset given in `detail`. Comments, trailing commas, `NaN` and a byte order mark are not valid JSON.";
    BAD_CURSOR BAD_REQUEST "bad_cursor" "Invalid cursor"
        "A cursor is valid for one list, one tenant and one set of filters. Clients cannot construct or change one."
        "Start again without `cursor`, and pass `next_cursor` unchanged with the same filters.";
    TENANT_REQUIRED BAD_REQUEST "tenant_required" "Tenant required"
        "The operator token is not bound to a tenant, and this operation works on one."
        "Send `X-Tenant: <slug or id>` with the operator token, or use an API key of the tenant.";
    UNAUTHENTICATED UNAUTHORIZED "unauthenticated" "Authentication required"
        "The request carries no credentials."
        "Send `X-API-Key: <key>` or `Authorization: Bearer <key>`.";
    INVALID_CREDENTIALS UNAUTHORIZED "invalid_credentials" "Invalid API key or token"
        "The API key or token is unknown, revoked, expired or mistyped. The response does not say which."
        "Check that the whole key was copied; otherwise ask the operator for a new one.";
    MISSING_SCOPE FORBIDDEN "missing_scope" "Missing scope"
        "The API key or portal token is valid, but lacks the scope that this operation requires."
        "Use a key with the scope named in `detail`: `publish`, `read` or `manage`.";
    OPERATOR_ONLY FORBIDDEN "operator_only" "Operator only"
        "A tenant's API key or portal token was used for an operation, a tenant or a partner that only the operator has access to."
        "Use the operator token, or leave out the parameter or header named in `detail`.";
    NOT_FOR_API_KEYS FORBIDDEN "not_for_api_keys" "Not for API keys"
        "API keys are created and revoked by people: in the portal, or by the operator. An API key cannot do it, so that a leaked one can be revoked for good."
        "Use the token of a portal link, or the operator token with `X-Tenant`.";
    MISSING_ROLE FORBIDDEN "missing_role" "Your role does not allow this"
        "The user is logged in, but has a role that may not do this: `read_only` reads, `support` also retries, replays, tests, pauses and resumes, and `operator` does everything."
        "Ask an operator to do it, or to give the user the role named in `detail`.";
    DENY_INVALID_ACCESS FORBIDDEN "deny_invalid_access" "Webhook verification failed"
        "The partner or key is unknown, the signature is wrong, or the timestamp is outside the tolerance. The sender is not told which; the operator can see it."
        "Check the partner's name, the key id, the secret and the clock. The operator finds the exact reason in the source's rejections.";
    PLAN_LIMIT FORBIDDEN "plan_limit" "Plan limit reached"
        "The tenant's plan allows no more webhooks, or no more events this month. The members `plan`, `limit`, `used` and `resets_at` give the numbers."
        "Wait until `resets_at`, delete a webhook, or ask the operator to change the plan.";
    NOT_FOUND NOT_FOUND "not_found" "Not found"
        "No object with this id exists for the tenant. The ids of other tenants get the same answer."
        "Check the id and the tenant. The list operations show what exists.";
    UNKNOWN_TENANT NOT_FOUND "unknown_tenant" "Tenant not found"
        "No tenant has this slug or id."
        "List tenants with `GET /v1/tenants`, or create one with `POST /v1/tenants`.";
    NO_ROUTE NOT_FOUND "no_route" "Unknown path"
        "The gateway serves nothing at this path."
        "Compare the path with the API reference at `/docs`.";
    RECEIVING_OFF NOT_FOUND "receiving_off" "Receiving is disabled"
        "This gateway was started without the part that receives webhooks."
        "Send the request to a gateway that receives webhooks.";
    EMAIL_OFF NOT_FOUND "email_off" "E-mail is disabled"
        "No e-mail transport is configured on this gateway."
        "Ask the operator to configure one, e.g. with `GANCHO_SMTP_URL`.";
    ALERTS_OFF NOT_FOUND "alerts_off" "Alerts are off"
        "The setting `alert_interval` is `0s`."
        "Set `alert_interval`, e.g. to `15s`, and restart the gateway.";
    METHOD_NOT_ALLOWED METHOD_NOT_ALLOWED "method_not_allowed" "Method not allowed"
        "The path exists, but does not support this HTTP method."
        "Use one of the methods in the `Allow` header.";
    SLOW_BODY REQUEST_TIMEOUT "slow_body" "Request body timed out"
        "The request body did not arrive within the time limit."
        "Send the body faster, or send less in one request.";
    CONFLICT CONFLICT "conflict" "Conflict"
        "The current state does not allow this operation: something is disabled, paused or deleted, or others keep changing the same object."
        "`detail` names the obstacle. Read the object again, and retry.";
    TAKEN CONFLICT "taken" "Already exists"
        "Another object already has this name."
        "Choose another name, or use the existing object.";
    LEDGER_BROKEN CONFLICT "ledger_broken" "Ledger verification failed"
        "The ledger of received webhooks does not match its hash chain: a line was changed or removed, or an old copy was restored. No further checkpoint is signed."
        "Run `gancho ledger verify`, which names the first bad line. Keep the database and the checkpoints as they are, and compare them with a backup.";
    TOO_LARGE PAYLOAD_TOO_LARGE "too_large" "Body too large"
        "The request body exceeds the size limit of this operation."
        "Send fewer events per request, or a reference to the data instead of the data.";
    UNSUPPORTED_MEDIA_TYPE UNSUPPORTED_MEDIA_TYPE "unsupported_media_type" "Unsupported media type"
        "Request bodies must be uncompressed JSON in UTF-8."
        "Send `Content-Type: application/json` and no `Content-Encoding`.";
    WRONG_HOST MISDIRECTED_REQUEST "wrong_host" "Host not allowed"
        "The gateway listens on the loopback interface, and the `Host` header names another host. Such requests are refused to prevent DNS rebinding."
        "Use `localhost` or the IP address, or add the name to `allowed_hosts` in the configuration.";
    INVALID_FIELD UNPROCESSABLE_ENTITY "invalid_field" "Invalid field"
        "A field or parameter has the wrong type, is too long, or has a value that is not allowed. `errors` lists each one with its JSON pointer."
        "Correct the fields listed in `errors`.";
    UNKNOWN_FIELD UNPROCESSABLE_ENTITY "unknown_field" "Unknown field"
        "The request has a field or parameter that this operation does not take. It is rejected rather than ignored, because it is usually a typo."
        "Use the name suggested in `detail`, or remove the field.";
    MISSING_FIELD UNPROCESSABLE_ENTITY "missing_field" "Missing field"
        "The request lacks a required field."
        "Add the fields listed in `errors`.";
    SCHEMA_MISMATCH UNPROCESSABLE_ENTITY "schema_mismatch" "Schema validation failed"
        "The data does not match the JSON Schema of its event type. The pointers in `errors` point into the data."
        "Correct the data, or change the schema of the event type.";
    UNKNOWN_EVENT_TYPE UNPROCESSABLE_ENTITY "unknown_event_type" "Unknown event type"
        "The tenant accepts registered event types only (`strict_event_types`)."
        "Register the type with `POST /v1/webhooks/events`, or correct the name.";
    RESERVED_EVENT_TYPE UNPROCESSABLE_ENTITY "reserved_event_type" "Reserved event type"
        "Event types that begin with `webhook.` report on deliveries, and only the gateway publishes them."
        "Choose another name.";
    IDEMPOTENCY_MISMATCH UNPROCESSABLE_ENTITY "idempotency_mismatch" "Idempotency key reused"
        "The idempotency key was used within the last 24 hours for an event or e-mail with different content."
        "Use a new key for every new event or e-mail.";
    RATE_LIMITED TOO_MANY_REQUESTS "rate_limited" "Too many requests"
        "The tenant exceeds its rate limit, or too many of its requests are in progress."
        "Wait for the number of seconds in `Retry-After`.";
    TOO_MANY_FAILURES TOO_MANY_REQUESTS "too_many_failures" "Too many failed authentications"
        "Many invalid API keys or tokens came from this address, so further ones are checked slowly, and this one was not checked. Credentials that were valid from this address before are not affected."
        "Wait for the number of seconds in `Retry-After`, and look for a program that uses an old key.";
    INTERNAL INTERNAL_SERVER_ERROR "internal" "Internal error"
        "The gateway failed to process the request. The request itself is not at fault."
        "Retry; if the error persists, report the `request_id` to the operator.";
    UNAVAILABLE SERVICE_UNAVAILABLE "unavailable" "Service unavailable"
        "The store cannot be reached, or the gateway is shutting down or overloaded. Nothing was accepted."
        "Retry after the number of seconds in `Retry-After`, with the same idempotency key.";
    TENANT_MOVING SERVICE_UNAVAILABLE "tenant_moving" "Tenant is moving"
        "The tenant is being moved to another database of the gateway. Nothing was changed. This takes about a second."
        "Retry after the number of seconds in `Retry-After`, with the same idempotency key.";
    SOURCE_PAUSED SERVICE_UNAVAILABLE "source_paused" "Source paused"
        "The operator has paused the source. The webhook was verified, and was not stored."
        "Send the webhook again after the number of seconds in `Retry-After`.";
    STORAGE_FULL SERVICE_UNAVAILABLE "storage_full" "Storage full"
        "The store has reached its size limit and accepts no new data. Events that are already stored are still delivered."
        "Retry later with the same idempotency key. The operator must free space.";
    LOOP_DETECTED LOOP_DETECTED "loop_detected" "Loop detected"
        "A gateway sent the request: the URL of a webhook or the target of a source points back to the gateway, or to the API of another one. Nothing was accepted."
        "Change the URL of the webhook or the target of the source. Another gateway's webhooks can be received by a source.";
}

/// Finds a code by its name.
pub fn find(code: &str) -> Option<&'static Code> {
    ALL.iter().copied().find(|known| known.code == code)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_is_one_word_and_unique() {
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

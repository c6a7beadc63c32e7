//! Validates the custom headers of an endpoint. They are sent unchanged, so this rejects everything that
//! could end a line, be read as framing, or imitate a header of the gateway.

use std::collections::BTreeMap;

use gancho_domain::{
    field_error::{FieldErrors, pointer_part},
    mask::MASK,
};
use gancho_wire::Profile;
use http::{HeaderName, HeaderValue};

use super::seal::Headers;

const MAX_COUNT: usize = 100;
const MAX_NAME_LENGTH: usize = 256;
const MAX_VALUE_LENGTH: usize = 8 * 1024;
/// Maximum length of all names and values together.
const MAX_TOTAL_LENGTH: usize = 64 * 1024;

/// Framing and hop-by-hop headers, and headers that every request has. In the folded form in which all names
/// are compared.
const RESERVED: [&str; 30] = [
    "host",
    "content-length",
    "content-type",
    "content-encoding",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "trailers",
    "upgrade",
    "expect",
    "http2-settings",
    "accept-encoding",
    "user-agent",
    "date",
    "via",
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
    "traceparent",
    "tracestate",
    "x-signature",
    "x-event-id",
    "x-sent-at",
    "x-retry-count",
    "x-http-method-override",
    "alt-svc",
];
const RESERVED_BEGINNINGS: [&str; 5] = ["webhook-", "x-webhook-", "x-gancho-", "proxy-", "sec-"];

/// Returns the headers to store. [`MASK`] keeps the stored value, so that a response can be sent back as a
/// request.
pub(super) fn check(
    given: &BTreeMap<String, String>,
    kept: &Headers,
    profile: &Profile,
    errors: &mut FieldErrors,
) -> Headers {
    if given.len() > MAX_COUNT {
        let message = format!("too many headers: {}, the maximum is {MAX_COUNT}", given.len());
        errors.add("too_many", "/headers", message);
        return Headers::new();
    }
    let mut seen = BTreeMap::new();
    let mut headers = Headers::new();
    for (name, value) in given {
        let pointer = format!("/headers/{}", pointer_part(name));
        if let Err((code, message)) = name_fits(name, profile) {
            errors.add(code, pointer.clone(), message);
        } else if let Some(first) = seen.insert(fold(name), name) {
            let message =
                format!("`{first}` and `{name}` are the same header to many receivers: remove one");
            errors.add("header_twice", pointer.clone(), message);
        }
        let value = if value == MASK { stored(kept, name) } else { Some(value.as_str()) };
        match value.map(value_fits) {
            Some(Ok(value)) => drop(headers.insert(name.clone(), value.to_owned())),
            Some(Err(message)) => errors.add("header_value", pointer, message),
            None => {
                let message =
                    format!("`{MASK}` keeps the stored value, but none is stored: set the value");
                errors.add("header_value", pointer, message);
            }
        }
    }
    let all: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if all > MAX_TOTAL_LENGTH {
        errors.add(
            "too_long",
            "/headers",
            format!("too large: {all} bytes in total, the maximum is {MAX_TOTAL_LENGTH}"),
        );
    }
    headers
}

/// Validates stored headers under a new profile.
pub(super) fn against_profile(kept: &Headers, profile: &Profile, errors: &mut FieldErrors) {
    for name in kept.keys() {
        if let Err((code, message)) = name_fits(name, profile) {
            errors.add(
                code,
                "/profile",
                format!("the endpoint's header `{name}` is invalid: {message}"),
            );
        }
    }
}

fn name_fits(name: &str, profile: &Profile) -> Result<(), (&'static str, String)> {
    let malformed = |message: &str| Err(("header_name", message.to_owned()));
    if name.is_empty() {
        return malformed("the header name is empty: use a name such as `X-Api-Key`");
    }
    if name.len() > MAX_NAME_LENGTH {
        return malformed("a header name must not have more than 256 characters");
    }
    // Only token characters of RFC 9110: no space, no colon, ASCII only.
    if HeaderName::from_bytes(name.as_bytes()).is_err() {
        return malformed("a header name must contain only letters, digits and !#$%&'*+-.^_`|~");
    }
    let folded = fold(name);
    let lines = profile.headers.iter().map(|line| line.name.as_str());
    let of_profile =
        lines.chain([profile.signature.header.as_str()]).any(|line| fold(line) == folded);
    let is_ours = of_profile
        || RESERVED.contains(&folded.as_str())
        || RESERVED_BEGINNINGS.iter().any(|beginning| folded.starts_with(beginning));
    if is_ours {
        return Err(("header_reserved", "this header is reserved: choose another name".to_owned()));
    }
    Ok(())
}

fn value_fits(value: &str) -> Result<&str, String> {
    if value.len() > MAX_VALUE_LENGTH {
        return Err(format!(
            "the value is too long: the maximum is {MAX_VALUE_LENGTH} bytes, it has {}",
            value.len()
        ));
    }
    if !value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Err("the value must contain printable ASCII only: no line breaks, tabs or accents"
            .to_owned());
    }
    if value.trim_matches(' ') != value {
        return Err(
            "the value must not start or end with a space: receivers remove those".to_owned()
        );
    }
    match HeaderValue::from_str(value) {
        Ok(_) => Ok(value),
        Err(_) => Err("the value cannot be sent".to_owned()),
    }
}

/// Folds a name: ignores case, and the difference between `_` and `-`, which receivers such as CGI and WSGI
/// do not see.
fn fold(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

fn stored<'a>(kept: &'a Headers, name: &str) -> Option<&'a str> {
    kept.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

//! The idempotency key of an event or an e-mail: from the header of the request, or from its body.

use http::{HeaderMap, HeaderName};

use crate::{
    input::{FieldErrors, field::MAX_IDEMPOTENCY_KEY},
    problem::Problem,
};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The `Idempotency-Key` header, if present.
pub fn of_header(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut keys = headers.get_all(&IDEMPOTENCY_KEY).iter();
    match (keys.next(), keys.next()) {
        (None, _) => Ok(None),
        (Some(key), None) => match key.to_str() {
            Ok(key) if (1..=MAX_IDEMPOTENCY_KEY).contains(&key.len()) => Ok(Some(key)),
            _ => Err(Problem::field(
                "",
                "the header `Idempotency-Key` must be 1 to 256 visible ASCII characters",
            )),
        },
        _ => Err(Problem::field(
            "",
            "the header `Idempotency-Key` is sent more than once; send it once",
        )),
    }
}

/// The key of an event or an e-mail: the header, or the field `name` of the body at `pointer`. Two that differ are an
/// error.
pub fn of_body<'a>(
    header: Option<&'a str>,
    field: Option<&'a str>,
    (pointer, name): (&str, &str),
    errors: &mut FieldErrors,
) -> Option<&'a str> {
    if header.is_some_and(|header| field.is_some_and(|field| header != field)) {
        errors.invalid(
            format!("{pointer}/{name}"),
            format!("the header `Idempotency-Key` and the field `{name}` differ; send one of them"),
        );
        return None;
    }
    header.or(field)
}

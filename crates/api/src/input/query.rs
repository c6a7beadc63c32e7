//! Parses query parameters by their fields, as strictly as a body.

use std::borrow::Cow;

use url::form_urlencoded;

use super::{
    Field, FieldErrors, FieldKind, MISSING_FIELD, Value, Values, body::from_text, request,
};

/// The maximum of `limit`.
pub const MAX_ROWS: u64 = 500;
/// The default of `limit`.
pub const DEFAULT_ROWS: u64 = 50;
/// The name of the parameter that makes a list paginated.
pub const CURSOR: &str = "cursor";

request! {
    /// The parameters of every paginated list.
    pub struct Paging {
        /// Maximum number of items per page. Default: 50.
        optional limit: u64 as count(1, MAX_ROWS),
        /// The `next_cursor` of the previous page.
        optional cursor: String as cursor(),
    }
}

pub fn read(fields: &'static [Field], query: Option<&str>) -> Result<Values<'static>, FieldErrors> {
    let mut values = Values::none(fields);
    let mut errors = FieldErrors::default();
    for (name, text) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        let Some(index) = fields.iter().position(|field| field.name == name) else {
            // A URL has no JSON pointers, so the message contains the name.
            errors.unknown(String::new(), "parameter", &name, fields);
            continue;
        };
        let field = &fields[index];
        if values.is_given(index) {
            errors.invalid("", format!("the parameter `{name}` is given more than once"));
            continue;
        }
        if let Some(value) = value(field.kind, text.into_owned()) {
            values.put(index, value);
        } else {
            let expects = field.kind.expects();
            errors.invalid("", format!("the parameter `{name}` must be {expects}"));
        }
    }
    for (index, field) in fields.iter().enumerate().filter(|(_, field)| field.is_required) {
        if !values.is_given(index) && errors.0.is_empty() {
            let message = format!("the parameter `{}` is required", field.name);
            errors.add(MISSING_FIELD, "", message);
        }
    }
    if errors.0.is_empty() { Ok(values) } else { Err(errors) }
}

fn value(kind: FieldKind, text: String) -> Option<Value<'static>> {
    match kind {
        FieldKind::Count { min, max } => {
            // Reject `+5`, ` 5` and `05`.
            let plain = text.bytes().all(|byte| byte.is_ascii_digit())
                && (text.len() == 1 || !text.starts_with('0'));
            let count = text.parse().ok().filter(|_| plain)?;
            (min..=max).contains(&count).then_some(Value::Count(count))
        }
        FieldKind::Flag => match &*text {
            "true" => Some(Value::Flag(true)),
            "false" => Some(Value::Flag(false)),
            _ => None,
        },
        kind => from_text(kind, Cow::Owned(text)),
    }
}

#[cfg(test)]
mod tests {
    use gancho_domain::Time;

    use super::*;
    use crate::input::Request;

    request! {
        struct Sample {
            flatten page: Paging,
            optional status: String as choice(&["failed", "delivered"]),
            optional since: Time as time(),
        }
    }

    const FIELDS: &[Field] = Sample::FIELDS;

    fn messages(query: &str) -> Vec<String> {
        match read(FIELDS, Some(query)) {
            Ok(_) => Vec::new(),
            Err(errors) => errors.0.into_iter().map(|error| error.message).collect(),
        }
    }

    #[test]
    fn what_is_taken() {
        let values =
            read(FIELDS, Some("limit=7&status=failed&since=2026-01-01T00:00:00Z")).unwrap();
        let sample = Sample::from_slots(&mut values.into_slots()).unwrap();
        assert_eq!((sample.page.limit, sample.page.cursor), (Some(7), None));
        assert_eq!(sample.status.as_deref(), Some("failed"));
        assert_eq!(sample.since.map(Time::secs), Some(1_767_225_600));
        assert!(read(FIELDS, None).unwrap().is_empty());
    }

    #[test]
    fn what_is_refused() {
        for query in [
            "limit=0",
            "limit=501",
            "limit=-1",
            "limit=1e3",
            "limit=+5",
            "limit=05",
            "limit=",
            "limit=1000000000000000000000",
            "status=Failed",
            "since=yesterday",
            "limit=1&limit=2",
            "offset=5",
            "sort=secret",
            "cursor=",
        ] {
            assert_eq!(messages(query).len(), 1, "{query}");
        }
        assert_eq!(messages("statu=1"), ["unknown parameter `statu`; did you mean `status`?"]);
    }

    #[test]
    fn a_fingerprint_leaves_the_page_out() {
        let of = |query: &str| read(FIELDS, Some(query)).unwrap().fingerprint();
        assert_eq!(of("status=failed&limit=3"), of("status=failed&cursor=x"));
        assert_ne!(of("status=failed"), of("status=delivered"));
    }
}

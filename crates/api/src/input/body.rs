//! Parses JSON bodies by their fields.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use gancho_domain::Time;
use gancho_wire::strict_json::{self, JsonError};

use super::{
    Field, FieldErrors, FieldKind, MISSING_FIELD, Request, Value, Values, field::MAX_ID_LENGTH,
    pointer_segment,
};

/// Why a body cannot be parsed.
#[derive(Debug)]
pub enum BodyError {
    /// It is not JSON, or contains a key twice.
    Malformed(String),
    Invalid(FieldErrors),
    /// It matches the fields of its type, but not the type: a mistake in a declaration.
    Mismatch,
}

impl From<JsonError> for BodyError {
    fn from(error: JsonError) -> Self {
        Self::Malformed(error.to_string())
    }
}

/// Parses a whole body.
pub fn parse<'a, R: Request<'a>>(body: &'a [u8]) -> Result<R, BodyError> {
    if body.starts_with(b"\xef\xbb\xbf") {
        return Err(BodyError::Malformed(
            "the body begins with a byte order mark; remove it".into(),
        ));
    }
    let text = std::str::from_utf8(body).map_err(|error| {
        BodyError::Malformed(format!("the body is not UTF-8 (at byte {})", error.valid_up_to()))
    })?;
    parse_item(text, "")
}

/// Parses an object at a pointer: an item of an array, or a whole body.
pub fn parse_item<'a, R: Request<'a>>(text: &'a str, pointer: &str) -> Result<R, BodyError> {
    let mut errors = FieldErrors::default();
    let values = object(R::FIELDS, text, pointer, &mut errors)?;
    if !errors.0.is_empty() {
        return Err(BodyError::Invalid(errors));
    }
    R::from_slots(&mut values.into_slots()).ok_or(BodyError::Mismatch)
}

/// Collects the errors of all fields. Stops only at malformed JSON and at a duplicate key, which is ambiguous.
fn object<'a>(
    fields: &'static [Field],
    text: &'a str,
    pointer: &str,
    errors: &mut FieldErrors,
) -> Result<Values<'a>, BodyError> {
    let members = match strict_json::members(text) {
        Err(error) if error.why == strict_json::NOT_AN_OBJECT => {
            let what = if pointer.is_empty() { "the body must be" } else { "must be" };
            errors.invalid(pointer, format!("{what} a JSON object: `{{…}}`"));
            return Ok(Values::none(fields));
        }
        members => members?,
    };
    let mut values = Values::none(fields);
    for (place, member) in members.iter().enumerate() {
        // Requests have few members, so comparing with earlier ones is faster than a set.
        if members[..place].iter().any(|before| before.key == member.key) {
            return Err(duplicate_key(&member.key));
        }
        let Some(index) = fields.iter().position(|field| field.name == member.key) else {
            let here = format!("{pointer}/{}", pointer_segment(&member.key));
            errors.unknown(here, "field", &member.key, fields);
            if place > MAX_MEMBERS {
                break;
            }
            continue;
        };
        let here = || format!("{pointer}/{}", fields[index].name);
        if let Some(value) = value(&fields[index], member.value, &here, errors)? {
            values.put(index, value);
        }
    }
    for field in fields.iter().filter(|field| field.is_required) {
        if !members.iter().any(|member| member.key == field.name) {
            let message = format!("`{}` is required: {}", field.name, field.kind.expects());
            errors.add(MISSING_FIELD, format!("{pointer}/{}", field.name), message);
        }
    }
    Ok(values)
}

/// Maximum members that are parsed; no valid request has as many.
const MAX_MEMBERS: usize = 1_000;

fn duplicate_key(key: &str) -> BodyError {
    let key = super::excerpt(key);
    BodyError::Malformed(format!("the key `{key}` appears twice in the same object; remove one"))
}

/// Parses a value; `None` if it is invalid.
fn value<'a>(
    field: &Field,
    text: &'a str,
    pointer: &dyn Fn() -> String,
    errors: &mut FieldErrors,
) -> Result<Option<Value<'a>>, BodyError> {
    if text == "null" && field.is_nullable {
        return Ok(Some(Value::Null));
    }
    let read = match field.kind {
        FieldKind::Object { fields, .. } if text.starts_with('{') => {
            return Ok(Some(Value::Object(object(fields, text, &pointer(), errors)?)));
        }
        FieldKind::Json => Some(Value::Json(text)),
        FieldKind::JsonObject { max } => {
            (text.starts_with('{') && text.len() <= max).then_some(Value::Json(text))
        }
        FieldKind::Flag => match text {
            "true" => Some(Value::Flag(true)),
            "false" => Some(Value::Flag(false)),
            _ => None,
        },
        FieldKind::Count { min, max } => {
            text.parse().ok().filter(|count| (min..=max).contains(count)).map(Value::Count)
        }
        FieldKind::Objects { min, max, .. } => match strict_json::items(text) {
            Ok(items) if (min..=max).contains(&items.len()) => Some(Value::Items(items)),
            _ => None,
        },
        FieldKind::Texts { max, max_length } => texts(text, max, max_length).map(Value::Texts),
        FieldKind::TextMap { max, max_length } => {
            text_map(text, max, max_length)?.map(Value::TextMap)
        }
        FieldKind::Object { .. } => None,
        _ if !text.starts_with('"') => None,
        kind => decode_string(text).and_then(|text| from_text(kind, text)),
    };
    if read.is_none() {
        let expects = field.kind.expects();
        errors.invalid(pointer(), format!("`{}` must be {expects}", field.name));
    }
    Ok(read)
}

/// Parses the text of a value, from a body or a query.
pub(super) fn from_text(kind: FieldKind, text: Cow<'_, str>) -> Option<Value<'_>> {
    let fits = |min: usize, max: usize| {
        // Counting characters is only needed for long texts.
        let long = text.len() > max && text.chars().count() > max;
        !long && text.len() >= min
    };
    match kind {
        FieldKind::Text { min, max } => {
            (fits(min, max) && !text.chars().any(char::is_control)).then_some(Value::Text(text))
        }
        FieldKind::Prose { max } => {
            let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
            (fits(0, max) && !text.chars().any(is_control)).then_some(Value::Text(text))
        }
        FieldKind::Secret { max } => {
            (fits(0, max) && !text.chars().any(char::is_control)).then_some(Value::Text(text))
        }
        FieldKind::Id(noun) => {
            let begins = match noun.prefix() {
                Some(prefix) => text.starts_with(prefix),
                None => true,
            };
            (begins && fits(1, MAX_ID_LENGTH) && !text.chars().any(char::is_control))
                .then_some(Value::Text(text))
        }
        FieldKind::Cursor => fits(1, 1_024).then_some(Value::Text(text)),
        FieldKind::Choice(words) => words.contains(&&*text).then_some(Value::Text(text)),
        FieldKind::Time => time(&text).map(Value::Time),
        FieldKind::Span => span(&text).map(Value::Span),
        _ => None,
    }
}

/// Returns the content of a JSON string; only decoded if it has escapes.
fn decode_string(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(text).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

fn texts(text: &str, max: usize, max_length: usize) -> Option<Vec<String>> {
    let items = strict_json::items(text).ok()?;
    if items.len() > max {
        return None;
    }
    let kind = FieldKind::Text { min: 0, max: max_length };
    items
        .into_iter()
        .map(|item| match from_text(kind, decode_string(item)?)? {
            Value::Text(text) => Some(text.into_owned()),
            _ => None,
        })
        .collect()
}

fn text_map(
    text: &str,
    max: usize,
    max_length: usize,
) -> Result<Option<BTreeMap<String, String>>, BodyError> {
    if !text.starts_with('{') {
        return Ok(None);
    }
    let members = strict_json::members(text)?;
    if members.len() > max {
        return Ok(None);
    }
    let mut map = BTreeMap::new();
    for member in members {
        // Whether names and values are valid headers is checked elsewhere; here they must be strings.
        let Some(value) = decode_string(member.value).filter(|text| text.len() <= max_length)
        else {
            return Ok(None);
        };
        if member.key.len() > max_length {
            return Ok(None);
        }
        if map.insert(member.key.to_string(), value.into_owned()).is_some() {
            return Err(duplicate_key(&member.key));
        }
    }
    Ok(Some(map))
}

/// Parses RFC 3339, with any offset.
fn time(text: &str) -> Option<Time> {
    if text.len() > 40 || !text.is_ascii() {
        return None;
    }
    let time = text.parse::<jiff::Timestamp>().ok().or_else(|| end_of_time(text))?;
    Some(Time::from_micros(time.as_microsecond()))
}

/// Parses the last days of the year 9999, which some callers write for "never", and which a timestamp cannot
/// hold.
fn end_of_time(text: &str) -> Option<jiff::Timestamp> {
    let (moment, offset) = text.split_at_checked("9999-12-31T23:59:59".len())?;
    let moment: jiff::civil::DateTime = moment.parse().ok()?;
    let is_last = moment.year() == 9999 && moment.month() == 12 && moment.day() >= 30;
    let has_offset = offset.ends_with(['Z', 'z']) || offset.contains(['+', '-']);
    (is_last && has_offset).then_some(jiff::Timestamp::MAX)
}

/// Parses a duration, e.g. `30s`.
fn span(text: &str) -> Option<Duration> {
    gancho_domain::span::parse(text).ok()
}

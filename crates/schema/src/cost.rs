//! Computes the cost of a schema per value and per byte, without evaluating it.
//!
//! To every value of an event some set of subschemas applies: the schema itself and those that it adds for
//! the same value (`allOf`, `$ref`, `if` and so on). Such a set determines the sets for the value's children.
//! This visits every possible set once. A schema that needs too many sets, or too large ones, is refused.
//! That is the case for a schema that refers to itself twice at each level, and so doubles its work with the
//! depth of the data.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use crate::patterns::{Patterns, own};

/// Maximum cost per value.
const MAX_PER_VALUE: u64 = 10_000;
/// Maximum subschemas that apply to one value.
const MAX_APPLIED: usize = 1_000;
/// Maximum different sets of them.
const MAX_SETS: usize = 5_000;
pub(super) const MAX_PATTERNS: usize = 100;
/// Maximum `unevaluated…` keywords: each makes the validator check everything beside it once more.
const MAX_UNEVALUATED: u32 = 4;

/// Ticks for each byte of a text whose length is checked, whose format is, and of a list of unique items.
const TICKS_OF_LENGTH: u64 = 1;
const TICKS_OF_FORMAT: u64 = 16;
const TICKS_OF_UNIQUE_ITEMS: u64 = 64;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// In units of work, about 10 ns each.
    pub per_value: u64,
    /// In ticks, 64 to a unit.
    pub ticks_per_byte: u64,
}

type Object = Map<String, Value>;

/// Computes the cost. The error says what makes it too high, or what is not understood.
pub(super) fn cost(root: &Value, patterns: &Patterns<'_>) -> Result<Cost, String> {
    if !root.is_object() && !root.is_boolean() {
        return Err("a schema must be a JSON object".to_owned());
    }
    if patterns.count > MAX_PATTERNS {
        let count = patterns.count;
        return Err(format!("too many patterns: {count}, the maximum is {MAX_PATTERNS}"));
    }
    let unevaluated = count(root, &|key, _| usize::from(key.starts_with("unevaluated"))) as u32;
    if unevaluated > MAX_UNEVALUATED {
        return Err(format!("`unevaluated…` may be used at most {MAX_UNEVALUATED} times"));
    }
    let dearest = Walk { root, patterns }.dearest()?;
    let per_value = dearest.per_value.saturating_mul(1 << unevaluated);
    let ticks_per_byte = dearest.ticks_per_byte.saturating_mul(1 << unevaluated);
    if per_value > MAX_PER_VALUE {
        return Err(
            "too many subschemas apply to one value: simplify `enum`, `allOf` and similar keywords"
                .to_owned(),
        );
    }
    Ok(Cost { per_value, ticks_per_byte })
}

struct Walk<'a> {
    root: &'a Value,
    patterns: &'a Patterns<'a>,
}

impl<'a> Walk<'a> {
    /// Returns the cost of the most expensive sets that can occur, by value and by byte.
    fn dearest(&self) -> Result<Cost, String> {
        let mut dearest = Cost { per_value: 1, ticks_per_byte: 0 };
        let mut seen = HashSet::new();
        let mut open = vec![vec![self.root]];
        while let Some(schemas) = open.pop() {
            let mut key: Vec<usize> =
                schemas.iter().map(|one| std::ptr::from_ref(*one) as usize).collect();
            key.sort_unstable();
            if !seen.insert(key) {
                continue;
            }
            if seen.len() > MAX_SETS {
                return Err(
                    "the schema is too complex: its subschemas combine in too many ways".to_owned()
                );
            }
            let mut applied = Vec::new();
            for schema in schemas {
                self.apply(schema, &mut Vec::new(), &mut applied)?;
            }
            dearest.per_value = dearest.per_value.max(applied.iter().map(|one| weight(one)).sum());
            let ticks = applied.iter().map(|one| ticks(one, self.patterns)).sum();
            dearest.ticks_per_byte = dearest.ticks_per_byte.max(ticks);
            open.extend(children(&applied));
        }
        Ok(dearest)
    }

    /// Collects everything that applies to the same value because `schema` does, each as often as it does.
    fn apply(
        &self,
        schema: &'a Value,
        above: &mut Vec<&'a Value>,
        applied: &mut Vec<&'a Object>,
    ) -> Result<(), String> {
        let Value::Object(object) = schema else { return Ok(()) };
        if above.iter().any(|one| std::ptr::eq(*one, schema)) {
            return Err("a `$ref` refers to itself without descending into the data".to_owned());
        }
        if applied.len() >= MAX_APPLIED {
            return Err(format!("more than {MAX_APPLIED} subschemas apply to one value"));
        }
        if !std::ptr::eq(schema, self.root) && object.contains_key("$id") {
            return Err("`$id` is allowed at the top level only".to_owned());
        }
        applied.push(object);
        above.push(schema);
        for inner in in_place(object) {
            self.apply(inner, above, applied)?;
        }
        if let Some(target) = object.get("$ref") {
            self.apply(self.resolve(target)?, above, applied)?;
        }
        if ["$dynamicRef", "$recursiveRef"].iter().any(|name| object.contains_key(*name)) {
            return Err("`$dynamicRef` is not supported: use `$ref` with `#/…`".to_owned());
        }
        above.pop();
        Ok(())
    }

    fn resolve(&self, target: &Value) -> Result<&'a Value, String> {
        let within = target.as_str().and_then(|text| text.strip_prefix('#'));
        within.and_then(|pointer| self.root.pointer(pointer)).ok_or_else(|| {
            let shown: String = target.to_string().chars().take(80).collect();
            format!("`$ref` {shown} does not refer to a part of this schema: use `#/…`; external references are not supported")
        })
    }
}

/// Returns the subschemas that apply to the same value.
fn in_place(object: &Object) -> impl Iterator<Item = &Value> {
    let one = ["not", "if", "then", "else"].into_iter().filter_map(|name| object.get(name));
    let lists =
        ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|name| object.get(name)?.as_array());
    let maps = ["dependentSchemas", "dependencies"]
        .into_iter()
        .filter_map(|name| object.get(name)?.as_object());
    one.chain(lists.flatten()).chain(maps.flat_map(Map::values))
}

/// Returns the sets that apply to a value's children: one for each named property, one for all others, one
/// for each named array index, and one for the indexes after those.
fn children<'a>(applied: &[&'a Object]) -> Vec<Vec<&'a Value>> {
    let names: BTreeSet<Option<&str>> = applied
        .iter()
        .filter_map(|object| object.get("properties")?.as_object())
        .flat_map(|properties| properties.keys().map(|name| Some(name.as_str())))
        .chain([None])
        .collect();
    let of_name = |name: Option<&'a str>| -> Vec<&'a Value> {
        applied.iter().flat_map(|object| property(object, name)).collect()
    };
    let longest =
        applied.iter().map(|object| places(object).map_or(0, Vec::len)).max().unwrap_or(0);
    let of_place = |place: usize| -> Vec<&'a Value> {
        applied.iter().flat_map(|object| item(object, place)).collect()
    };
    let sets = names.into_iter().map(of_name).chain((0..=longest).map(of_place));
    sets.filter(|set| !set.is_empty()).collect()
}

/// Returns the subschemas of one property. Assumes that all patterns match.
fn property<'a>(object: &'a Object, name: Option<&str>) -> Vec<&'a Value> {
    let properties = object.get("properties").and_then(Value::as_object);
    let named = properties.zip(name).and_then(|(properties, name)| properties.get(name));
    let patterns = object.get("patternProperties").and_then(Value::as_object);
    let others =
        ["propertyNames", "unevaluatedProperties"].into_iter().filter_map(|key| object.get(key));
    named
        .or_else(|| object.get("additionalProperties"))
        .into_iter()
        .chain(patterns.into_iter().flat_map(Map::values))
        .chain(others)
        .collect()
}

/// Returns the subschemas of one array index.
fn item(object: &Object, place: usize) -> Vec<&Value> {
    let named = places(object).and_then(|list| list.get(place));
    let rest = ["items", "additionalItems"]
        .into_iter()
        .filter_map(|key| object.get(key))
        .find(|rest| !rest.is_array());
    let others = ["contains", "unevaluatedItems"].into_iter().filter_map(|key| object.get(key));
    named.or(rest).into_iter().chain(others).collect()
}

/// Returns the schemas of array indexes, in either form: `prefixItems`, or the older list in `items`.
fn places(object: &Object) -> Option<&Vec<Value>> {
    let list = object.get("prefixItems").or_else(|| object.get("items"));
    list.and_then(Value::as_array)
}

/// Returns the cost of a subschema itself for one value.
fn weight(object: &Object) -> u64 {
    let lists =
        ["enum", "required", "type"].into_iter().filter_map(|name| object.get(name)?.as_array());
    let compared = object.get("const").map_or(0, |value| count(value, &|_, _| 1));
    1 + object.len() as u64 + lists.map(|list| list.len() as u64).sum::<u64>() + compared as u64
}

/// Returns the ticks that a subschema itself takes for each byte of a value: of its text, its names or its items.
fn ticks(object: &Object, patterns: &Patterns<'_>) -> u64 {
    let matched: u64 = own(object).map(|pattern| patterns.ticks_per_byte(pattern)).sum();
    let has = |key: &str| u64::from(object.contains_key(key));
    matched
        + (has("minLength") + has("maxLength")) * TICKS_OF_LENGTH
        + has("format") * TICKS_OF_FORMAT
        + has("uniqueItems") * TICKS_OF_UNIQUE_ITEMS
}

/// Sums `each` over every member of every object, however deep.
fn count(value: &Value, each: &dyn Fn(&str, &Value) -> usize) -> usize {
    match value {
        Value::Object(object) => {
            object.iter().map(|(key, value)| each(key, value) + count(value, each)).sum()
        }
        Value::Array(list) => list.iter().map(|value| count(value, each)).sum(),
        _ => 0,
    }
}

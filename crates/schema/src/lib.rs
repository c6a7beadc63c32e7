//! A JSON Schema from an untrusted source, compiled so that it can do no harm: it opens no file and no
//! connection, its patterns run in linear time, and its work for each value of an event is bounded before it
//! is accepted (`cost`).

mod cost;

use std::fmt;

use gancho_domain::FieldError;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

use self::cost::{Cost, cost};

const MAX_LENGTH: usize = 64 * 1024;
/// Maximum size of one compiled pattern.
const PATTERN_BYTES: usize = 128 * 1024;
/// Maximum work: the values of an event, times the cost of the schema per value.
const MAX_WORK: u64 = 2_000_000;
/// Up to this work all errors are reported. Describing them costs far more than finding that there is one.
const LITTLE_WORK: u64 = 50_000;
/// Longer data is not matched with patterns.
const MAX_LENGTH_FOR_PATTERNS: usize = 256 * 1024;
const MAX_ERRORS: usize = 10;

/// The check itself failed, so it is not known whether the data matches. It is neither accepted nor
/// refused, and must be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the schema check failed: try again")]
pub struct SchemaCheckError;

pub struct Schema {
    validator: Validator,
    cost: Cost,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("cost", &self.cost).finish_non_exhaustive()
    }
}

impl Schema {
    /// Compiles a schema. Errors point into the schema itself, under `/schema`.
    pub fn compile(text: &str) -> Result<Self, FieldError> {
        let unfit = |pointer: String, message: String| {
            FieldError::new("schema_malformed", format!("/schema{pointer}"), message)
        };
        if text.len() > MAX_LENGTH {
            let message = format!("too large: {} bytes, the maximum is {MAX_LENGTH}", text.len());
            return Err(FieldError::new("too_long", "/schema", message));
        }
        let schema: Value =
            serde_json::from_str(text).map_err(|error| unfit(String::new(), error.to_string()))?;
        let cost = cost(&schema).map_err(|message| unfit(String::new(), message))?;
        let patterns =
            PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES);
        let validator = jsonschema::options()
            .with_pattern_options(patterns)
            .offline()
            .build(&schema)
            .map_err(|error| unfit(error.instance_path().to_string(), error.to_string()))?;
        Ok(Self { validator, cost })
    }

    /// Returns the first ten validation errors, with pointers under `/data`.
    pub fn errors(&self, data: &[u8]) -> Vec<FieldError> {
        let values =
            data.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count() as u64 + 1;
        let work = values.saturating_mul(self.cost.per_value);
        let too_much =
            work > MAX_WORK || self.cost.has_patterns && data.len() > MAX_LENGTH_FOR_PATTERNS;
        if too_much {
            let message =
                "too large to validate against the schema: send less data, or simplify the schema";
            return vec![FieldError::new("schema_too_costly", "/data", message)];
        }
        let value: Value = match serde_json::from_slice(data) {
            Ok(value) => value,
            Err(error) => return vec![FieldError::new("malformed", "/data", error)],
        };
        if self.validator.is_valid(&value) {
            return Vec::new();
        }
        let found: Vec<_> = if work <= LITTLE_WORK {
            self.validator.iter_errors(&value).take(MAX_ERRORS).collect()
        } else {
            self.validator.validate(&value).err().into_iter().collect()
        };
        found.iter().map(mismatch).collect()
    }
}

/// Describes an error without the value itself, which may be long and belongs to the publisher.
fn mismatch(error: &ValidationError<'_>) -> FieldError {
    let pointer = format!("/data{}", error.instance_path().as_str());
    FieldError::new("schema_mismatch", pointer, error.masked())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn refused(schema: &str) -> String {
        Schema::compile(schema).expect_err(schema).message
    }

    #[test]
    fn faults_point_to_where_they_are() {
        let schema = r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string"},
            "lines":{"type":"array","items":{"properties":{"a/b":{"minimum":1}}}}}}"#;
        let schema = Schema::compile(schema).unwrap();
        assert_eq!(schema.errors(br#"{"id":"x","lines":[{"a/b":1}]}"#), []);
        let errors = schema.errors(br#"{"id":7,"lines":[{},{"a/b":0}]}"#);
        let pointers: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(pointers, ["/data/id", "/data/lines/1/a~1b"]);
        assert!(errors[0].message.contains("string"), "{errors:?}");
        let missing = schema.errors(b"{}");
        assert_eq!(missing[0].pointer, "/data");
        assert!(missing[0].message.contains("id"), "{missing:?}");
    }

    /// Nothing is fetched, and a reference that cannot be checked beforehand is refused.
    #[test]
    fn references_stay_within() {
        for reference in [
            "http://169.254.169.254/latest/meta-data",
            "https://example.com/schema.json",
            "file:///etc/passwd",
            "other.json",
            "#anchor",
            "#/$defs/nothing",
            "//example.com/x",
        ] {
            let message = refused(&format!(r#"{{"$ref":"{reference}"}}"#));
            assert!(message.contains("#/"), "{reference}: {message}");
        }
        refused(r##"{"$dynamicRef":"#node"}"##);
        refused(r#"{"$schema":"http://example.com/my-own-meta-schema","type":"object"}"#);
        refused(r#"{"properties":{"a":{"$id":"http://example.com/a"}}}"#);
        Schema::compile(
            r##"{"$id":"https://example.com/x.json","$ref":"#/$defs/a","$defs":{"a":{}}}"##,
        )
        .unwrap();
    }

    /// Schemas that refer to themselves without end, or double with every level.
    #[test]
    fn bombs_are_refused() {
        refused(r##"{"$ref":"#"}"##);
        refused(r##"{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#"}]}}}"##);
        let level = |level: u32| {
            let below = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, level - 1);
            format!(r#","d{level}":{{"allOf":[{below},{below}]}}"#)
        };
        let levels: String = (1..40).map(level).collect();
        let doubling = r#"{"$defs":{"d0":{"type":"object"}"#.to_owned() + &levels;
        refused(&(doubling + r##"},"$ref":"#/$defs/d39"}"##));
        refused(r##"{"properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}"##);
        refused(&format!(r#"{{"enum":[{}0]}}"#, "0,".repeat(40_000)));
        refused(r#"{"pattern":"(((a{100}){100}){100}){100}"}"#);
        refused(r#"{"pattern":"(?=lookahead)"}"#);
        refused(r#"{"pattern":"("}"#);
        refused(r#"{"type":"strange"}"#);
        refused("[]");
        refused("{");
    }

    #[test]
    fn trees_are_fine() {
        let tree = r##"{"anyOf":[{"type":"string"},{"type":"array","items":{"$ref":"#"}},
            {"type":"object","properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}},
             "additionalProperties":{"$ref":"#"}}]}"##;
        let tree = Schema::compile(tree).unwrap();
        assert_eq!(tree.errors(br#"{"left":["a",{"right":"b"}],"more":"c"}"#), []);
        assert!(!tree.errors(br#"{"left":["a",{"right":1}]}"#).is_empty());
    }

    /// Each ends within its time, or is refused.
    #[test]
    fn nothing_takes_long() {
        let any_of = format!(r#"{{"anyOf":[{}{{}}]}}"#, r#"{"const":1},"#.repeat(4_000));
        let ones = format!("[{}1]", "1,".repeat(100_000));
        let numbers: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
        let distinct = format!("[{}]", numbers.join(","));
        let near =
            format!(r#"{{"items":{{"anyOf":[{}{{"const":3}}]}}}}"#, r#"{"const":1},"#.repeat(900));
        let twos = format!("[{}2]", "2,".repeat(1_000));
        let long = format!("\"{}\"", "a".repeat(250_000));
        let evil = format!("\"{}!\"", "a".repeat(50_000));
        for (schema, data) in [
            (r#"{"pattern":"^(a+)+$"}"#, evil.as_str()),
            (r#"{"uniqueItems":true}"#, distinct.as_str()),
            (r#"{"multipleOf":1e308}"#, "1e307"),
            (r#"{"multipleOf":1e-308}"#, "1e308"),
            (r#"{"items":{"type":"integer"}}"#, ones.as_str()),
            (&any_of, ones.as_str()),
            (r#"{"type":"object"}"#, &"[".repeat(100_000)),
            (&near, twos.as_str()),
            (r#"{"pattern":"^(([a-z]{1,30}){1,20}!)+$"}"#, long.as_str()),
            (r#"{"pattern":"[ab]{0,50}[bc]{0,50}[cd]{0,50}x"}"#, long.as_str()),
            (r#"{"pattern":"(.*a){12}z"}"#, long.as_str()),
        ] {
            let started = Instant::now();
            let compiled = Schema::compile(schema);
            assert!(started.elapsed() < Duration::from_millis(500), "compiling {schema:.60}");
            let Ok(schema) = compiled else { continue };
            let started = Instant::now();
            let _ = schema.errors(data.as_bytes());
            assert!(started.elapsed() < Duration::from_millis(500), "{schema:?} {data:.60}");
        }
    }
}

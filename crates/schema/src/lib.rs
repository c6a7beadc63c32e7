//! A JSON Schema from an untrusted source, compiled so that it can do no harm: it opens no file and no
//! connection, its patterns run in linear time, and its work for an event is bounded before it begins.
//!
//! The work is computed from the schema and the length of the data, never from a clock: `patterns` computes what
//! patterns cost, and `cost` what the schema costs per value and per byte. By it, callers decide where a check runs.

mod cost;
mod patterns;

use std::fmt;

use gancho_domain::FieldError;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

use self::{
    cost::{Cost, MAX_PATTERNS, cost},
    patterns::{MAX_PATTERN_BYTES, Patterns},
};

const MAX_LENGTH: usize = 64 * 1024;
/// Maximum memory that the patterns of a new schema take.
const MAX_PATTERN_MEMORY: usize = 4 << 20;
/// Maximum work with values: the values of an event, times the cost of the schema per value.
const MAX_WORK: u64 = 2_000_000;
/// Maximum work with text: the bytes of an event, times the cost of the schema per byte. It takes about a second.
const MAX_TEXT_WORK: u64 = 100_000_000;
/// Up to this work, about 0.2 ms, and with a schema of this size, a check may run on an async thread.
const MAX_INLINE_WORK: u64 = 20_000;
const MAX_INLINE_MEMORY: usize = 1 << 20;
/// Up to this work all errors are reported. Describing them costs far more than finding that there is one.
const LITTLE_WORK: u64 = 50_000;
const TICKS_PER_UNIT: u64 = 64;
/// The bytes that are parsed in a unit of work.
const BYTES_PER_UNIT: u64 = 4;
/// The memory of a compiled schema without its patterns, for each byte of its text.
const MEMORY_PER_BYTE: usize = 16;
const MAX_ERRORS: usize = 10;

/// The check itself failed, so it is not known whether the data matches. It is neither accepted nor
/// refused, and must be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the schema check failed: try again")]
pub struct SchemaCheckError;

pub struct Schema {
    validator: Validator,
    cost: Cost,
    length: usize,
    pattern_bytes: usize,
}

/// The work of a check, in units of about 10 ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Work {
    values: u64,
    text: u64,
    parsing: u64,
}

impl Work {
    fn total(self) -> u64 {
        self.values.saturating_add(self.text).saturating_add(self.parsing)
    }

    fn is_too_much(self) -> bool {
        self.values > MAX_WORK || self.text > MAX_TEXT_WORK
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("cost", &self.cost).finish_non_exhaustive()
    }
}

impl Schema {
    /// Compiles a schema that was accepted before, even if a new one like it would be refused for what its
    /// patterns take.
    pub fn compile(text: &str) -> Result<Self, FieldError> {
        Self::compile_within(text, usize::MAX)
    }

    /// Compiles a new schema. Errors point into the schema itself, under `/schema`.
    pub fn compile_new(text: &str) -> Result<Self, FieldError> {
        Self::compile_within(text, MAX_PATTERN_MEMORY)
    }

    fn compile_within(text: &str, max_pattern_bytes: usize) -> Result<Self, FieldError> {
        if text.len() > MAX_LENGTH {
            let message = format!("too large: {} bytes, the maximum is {MAX_LENGTH}", text.len());
            return Err(FieldError::new("too_long", "/schema", message));
        }
        let schema: Value =
            serde_json::from_str(text).map_err(|error| malformed("", error.to_string()))?;
        let patterns = Patterns::of(&schema, MAX_PATTERNS, max_pattern_bytes);
        let cost = cost(&schema, &patterns).map_err(|message| malformed("", message))?;
        if patterns.bytes > max_pattern_bytes {
            let message = format!(
                "its patterns take more than {} MiB when compiled: use fewer or simpler ones, and `maxLength` instead of large repetitions such as `{{3000}}`",
                max_pattern_bytes >> 20
            );
            return Err(FieldError::new("schema_too_costly", "/schema", message));
        }
        if let Some(pattern) = patterns.too_large() {
            let shown: String = pattern.chars().take(80).collect();
            let message = format!(
                "the pattern {shown:?} takes more than {} KiB when compiled: use `maxLength` instead of repetitions such as `{{1,100}}`, and classes of fewer letters instead of `\\p{{…}}`",
                MAX_PATTERN_BYTES >> 10
            );
            return Err(FieldError::new("schema_too_costly", "/schema", message));
        }
        let pattern_bytes = patterns.bytes;
        let options =
            PatternOptions::regex().size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES);
        let validator = jsonschema::options()
            .with_pattern_options(options)
            .offline()
            .build(&schema)
            .map_err(|error| malformed(error.instance_path().as_str(), error.to_string()))?;
        Ok(Self { validator, cost, length: text.len(), pattern_bytes })
    }

    /// Returns an estimate of the memory that the compiled patterns take.
    pub fn pattern_bytes(&self) -> usize {
        self.pattern_bytes
    }

    /// Returns an estimate of the memory that the schema takes.
    pub fn memory(&self) -> usize {
        self.length * MEMORY_PER_BYTE + self.pattern_bytes
    }

    fn work(&self, data: &[u8]) -> Work {
        let values =
            data.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count() as u64 + 1;
        let bytes = data.len() as u64;
        Work {
            values: values.saturating_mul(self.cost.per_value),
            text: bytes.saturating_mul(self.cost.ticks_per_byte) / TICKS_PER_UNIT,
            parsing: bytes / BYTES_PER_UNIT,
        }
    }

    /// Returns the work of [`is_valid`](Self::is_valid) in units of about 10 ns if it is little enough for an
    /// async thread.
    pub fn inline_work(&self, data: &[u8]) -> Option<u64> {
        let work = self.work(data).total();
        (work <= MAX_INLINE_WORK && self.memory() <= MAX_INLINE_MEMORY).then_some(work)
    }

    /// Whether the data matches, without a description of errors, which takes longer.
    pub fn is_valid(&self, data: &[u8]) -> bool {
        !self.work(data).is_too_much()
            && serde_json::from_slice(data)
                .is_ok_and(|value: Value| self.validator.is_valid(&value))
    }

    /// Returns the first ten validation errors, with pointers under `/data`.
    pub fn errors(&self, data: &[u8]) -> Vec<FieldError> {
        let work = self.work(data);
        if work.is_too_much() {
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
        let found: Vec<_> = if work.total() <= LITTLE_WORK {
            self.validator.iter_errors(&value).take(MAX_ERRORS).collect()
        } else {
            self.validator.validate(&value).err().into_iter().collect()
        };
        found.iter().map(mismatch).collect()
    }
}

fn malformed(pointer: &str, message: String) -> FieldError {
    FieldError::new("schema_malformed", format!("/schema{pointer}"), message)
}

/// Describes an error without the value itself, which may be long and belongs to the publisher.
fn mismatch(error: &ValidationError<'_>) -> FieldError {
    let pointer = format!("/data{}", error.instance_path().as_str());
    FieldError::new("schema_mismatch", pointer, error.masked())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;

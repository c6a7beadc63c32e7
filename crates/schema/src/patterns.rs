//! Computes what a pattern costs before it is used: the memory of its compiled form, and the time for each byte
//! that it is matched with, whatever the bytes are.
//!
//! The engine matches with a DFA that it builds as it goes. Where the whole DFA fits in its cache, a byte costs one
//! step. Where it does not, some data exhausts the cache, and then a byte costs as many steps as the NFA has states.

use std::collections::HashMap;

use jsonschema_regex::{PatternAnalysis, analyze_pattern, to_rust_regex};
use regex_automata::{
    dfa::{StartKind, dense},
    nfa::thompson::{self, NFA, WhichCaptures},
};
use serde_json::{Map, Value};

/// Maximum size of a compiled pattern, and of the cache of its DFA.
pub(crate) const MAX_PATTERN_BYTES: usize = 128 * 1024;
/// A DFA of this size, with as much again for what its states consist of, fits in the cache.
const MAX_DFA_BYTES: usize = MAX_PATTERN_BYTES / 2;
/// Maximum size of the one-pass DFA that the engine builds of a pattern with groups.
const MAX_ONE_PASS_BYTES: usize = 1 << 20;
/// The engine compiles a pattern twice, forward and backward, and keeps what it was compiled from.
const COPIES: usize = 3;
/// The memory that a state takes while the NFA runs, beside its groups.
const STATE_BYTES: usize = 32;

/// Time for each byte, in ticks: 64 of them are a unit of work.
pub(crate) const TICKS_OF_DFA: u64 = 8;
const TICKS_OF_NFA_STATE: u64 = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PatternCost {
    /// What it takes in memory, with the caches that it is matched with.
    pub bytes: usize,
    pub ticks_per_byte: u64,
}

impl PatternCost {
    /// For a pattern that cannot be judged: as much as any pattern costs.
    const MAX: Self = Self {
        bytes: MAX_PATTERN_BYTES,
        ticks_per_byte: MAX_PATTERN_BYTES as u64 / 8 * TICKS_OF_NFA_STATE,
    };

    fn of(pattern: &str) -> Self {
        if let Some(literals) = analyze_pattern(pattern) {
            return Self::of_literals(pattern, &literals);
        }
        Self::of_regex(pattern).unwrap_or(Self::MAX)
    }

    /// Whether it takes more memory than any pattern may.
    fn is_too_large(pattern: &str) -> bool {
        analyze_pattern(pattern).is_none()
            && to_rust_regex(pattern).is_ok_and(|pattern| {
                let built = NFA::compiler().configure(nfa_limits()).build(&pattern);
                built.is_err_and(|error| error.size_limit().is_some())
            })
    }

    /// Some patterns are compared as texts.
    fn of_literals(pattern: &str, literals: &PatternAnalysis<'_>) -> Self {
        let count = match literals {
            PatternAnalysis::Alternation(alternatives) => alternatives.len(),
            _ => 1,
        };
        let bytes = 64 * count + 4 * pattern.len();
        Self { bytes, ticks_per_byte: TICKS_OF_DFA.max(count as u64) }
    }

    fn of_regex(pattern: &str) -> Option<Self> {
        let pattern = to_rust_regex(pattern).ok()?;
        let nfa = NFA::compiler().configure(nfa_limits()).build(&pattern).ok()?;
        let compiled = COPIES * nfa.memory_usage() + one_pass_bytes(&nfa);
        if let Some(dfa) = dfa_bytes(&nfa) {
            return Some(Self { bytes: compiled + 2 * dfa, ticks_per_byte: TICKS_OF_DFA });
        }
        let (states, slots) = (nfa.states().len(), nfa.group_info().slot_len());
        let running = states * (STATE_BYTES + 2 * size_of::<usize>() * slots);
        Some(Self {
            bytes: compiled + MAX_PATTERN_BYTES + running,
            ticks_per_byte: states as u64 * TICKS_OF_NFA_STATE,
        })
    }
}

fn nfa_limits() -> thompson::Config {
    NFA::config().nfa_size_limit(Some(MAX_PATTERN_BYTES)).which_captures(WhichCaptures::All)
}

/// Returns the size of the whole DFA, or `None` if it does not fit in the cache.
fn dfa_bytes(nfa: &NFA) -> Option<usize> {
    let limits = dense::Config::new()
        .start_kind(StartKind::Unanchored)
        .dfa_size_limit(Some(MAX_DFA_BYTES))
        .determinize_size_limit(Some(MAX_DFA_BYTES));
    let dfa = dense::Builder::new().configure(limits).build_from_nfa(nfa).ok()?;
    Some(dfa.memory_usage())
}

fn one_pass_bytes(nfa: &NFA) -> usize {
    let has_groups = nfa.group_info().slot_len() > 2;
    let row = nfa.byte_classes().alphabet_len().next_power_of_two() * size_of::<u64>();
    if has_groups { MAX_ONE_PASS_BYTES.min(nfa.states().len() * row) } else { 0 }
}

/// The patterns of a schema.
#[derive(Debug, Default)]
pub(crate) struct Patterns<'a> {
    costs: HashMap<&'a str, PatternCost>,
    /// How often there is one.
    pub count: usize,
    /// What all of them take in memory: the same one twice is compiled once.
    pub bytes: usize,
}

impl<'a> Patterns<'a> {
    /// Judges all patterns of a schema, or as many as take `max_bytes`. Stops after `max_count`.
    pub fn of(schema: &'a Value, max_count: usize, max_bytes: usize) -> Self {
        let mut all = Vec::new();
        collect(schema, &mut all);
        let mut patterns = Self { count: all.len(), ..Self::default() };
        if all.len() > max_count {
            return patterns;
        }
        for pattern in all {
            if patterns.bytes <= max_bytes && !patterns.costs.contains_key(pattern) {
                let cost = PatternCost::of(pattern);
                patterns.bytes += cost.bytes;
                patterns.costs.insert(pattern, cost);
            }
        }
        patterns
    }

    /// Returns a pattern that cannot be compiled because it is too large.
    pub fn too_large(&self) -> Option<&'a str> {
        let unknown = self.costs.iter().filter(|(_, cost)| **cost == PatternCost::MAX);
        unknown.map(|(pattern, _)| *pattern).find(|pattern| PatternCost::is_too_large(pattern))
    }

    pub fn ticks_per_byte(&self, pattern: &str) -> u64 {
        self.costs.get(pattern).map_or(PatternCost::MAX.ticks_per_byte, |cost| cost.ticks_per_byte)
    }
}

fn collect<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
    match value {
        Value::Object(object) => {
            into.extend(own(object));
            for value in object.values() {
                collect(value, into);
            }
        }
        Value::Array(list) => {
            for value in list {
                collect(value, into);
            }
        }
        _ => {}
    }
}

/// Returns the patterns of a subschema itself.
pub(crate) fn own(object: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let names = object.get("patternProperties").and_then(Value::as_object);
    let names = names.into_iter().flat_map(Map::keys).map(String::as_str);
    object.get("pattern").and_then(Value::as_str).into_iter().chain(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everyday patterns cost one step for each byte, and little memory.
    #[test]
    fn everyday_patterns_are_cheap() {
        for pattern in [
            "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
            r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
            r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$",
            r"^\+[1-9]\d{1,14}$",
            "^[a-z0-9]+(?:-[a-z0-9]+)*$",
            r"^https?://[\w.-]+(/.*)?$",
            "^(evt|dlv|wh)_[0-9A-HJKMNP-TV-Z]{26}$",
            "^[A-Z]{3}$",
            "^.{1,16}$",
            r"^\w+([.-]?\w+)*@\w+([.-]?\w+)*(\.\w{2,3})+$",
            "^(created|updated|deleted)$",
            "^inv_",
        ] {
            let cost = PatternCost::of(pattern);
            assert_eq!(cost.ticks_per_byte, TICKS_OF_DFA, "{pattern}: {cost:?}");
            assert!(cost.bytes < 256 * 1024, "{pattern}: {cost:?}");
        }
    }

    /// Patterns whose DFA is too large cost as much as their NFA, which each byte may have to pass through.
    #[test]
    fn patterns_without_a_small_dfa_cost_their_states() {
        for (pattern, min_states) in [
            ("a[ab]{900}[^ab]", 900),
            ("[ab]*a[ab]{20}c", 20),
            (r"\ba[ab]{30}\b", 30),
            ("a.{100}b", 400),
        ] {
            let cost = PatternCost::of(pattern);
            assert!(cost.ticks_per_byte >= min_states * TICKS_OF_NFA_STATE, "{pattern}: {cost:?}");
            assert!(cost.bytes > MAX_PATTERN_BYTES, "{pattern}: {cost:?}");
        }
    }

    /// The engine reserves memory for each group at each state.
    #[test]
    fn groups_count_at_each_state() {
        let cost = PatternCost::of(&format!("[ab]*a[ab]{{20}}{}c", "(a)?".repeat(100)));
        assert!(cost.bytes > 1 << 20, "{cost:?}");
    }

    #[test]
    fn a_pattern_that_occurs_twice_is_counted_for_memory_once() {
        let schema: Value = serde_json::from_str(
            r#"{"pattern":"a+b","items":{"pattern":"a+b","patternProperties":{"x+":{"pattern":"a+c"}}}}"#,
        )
        .unwrap();
        let patterns = Patterns::of(&schema, 100, usize::MAX);
        assert_eq!((patterns.count, patterns.costs.len()), (4, 3));
        let bytes = ["a+b", "x+", "a+c"].map(|pattern| PatternCost::of(pattern).bytes);
        assert_eq!(patterns.bytes, bytes.iter().sum::<usize>());
    }

    #[test]
    fn what_cannot_be_judged_costs_the_maximum() {
        for pattern in ["(", "(?=x)", r"(a)\1", "(((a{100}){100}){100}){100}"] {
            assert_eq!(PatternCost::of(pattern), PatternCost::MAX, "{pattern}");
        }
    }
}

//! Collects and prints the results of the checks.

use serde_json::{Value, json};

use crate::{
    commands::{
        failure,
        table::{self, clean},
    },
    paint::{DIM, GREEN, RED, YELLOW},
};

pub struct Report {
    as_json: bool,
    checks: Vec<Value>,
    failed: usize,
}

impl Report {
    pub fn new(as_json: bool) -> Self {
        Self { as_json, checks: Vec::new(), failed: 0 }
    }

    pub fn ok(&mut self, check: &str, text: impl Into<String>) {
        self.add("ok", check, &text.into(), None);
    }

    pub fn warn(&mut self, check: &str, text: impl Into<String>, remedy: &str) {
        self.add("warn", check, &text.into(), Some(remedy));
    }

    pub fn fail(&mut self, check: &str, text: impl Into<String>, remedy: &str) {
        self.failed += 1;
        self.add("fail", check, &text.into(), Some(remedy));
    }

    fn add(&mut self, state: &str, check: &str, text: &str, remedy: Option<&str>) {
        // Messages of other parts have their own hint.
        let (text, hint) = failure::split(text);
        let remedy = hint.or(remedy);
        if !self.as_json {
            let style = match state {
                "ok" => GREEN,
                "warn" => YELLOW,
                _ => RED,
            };
            let lines: Vec<String> = text.lines().map(clean).collect();
            let text = lines.join("\n                      ");
            // A closed output is ignored.
            let _ = table::say(&format!("{style}{state:<4}{style:#}  {check:<14}  {text}"));
            if let Some(remedy) = remedy {
                let _ = table::say(&format!(
                    "                      {DIM}hint: {}{DIM:#}",
                    clean(remedy)
                ));
            }
        }
        self.checks.push(json!({ "check": check, "state": state, "detail": text, "hint": remedy }));
    }

    /// Prints the rest. Returns how many checks failed.
    pub fn finish(self) -> anyhow::Result<usize> {
        if self.as_json {
            table::json(&json!({ "checks": self.checks, "failed": self.failed }))?;
        }
        Ok(self.failed)
    }
}

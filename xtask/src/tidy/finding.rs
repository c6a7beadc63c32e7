//! The result of a check.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Warning,
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub level: Level,
    /// The name of the check.
    pub check: &'static str,
    pub what: String,
    pub hint: String,
}

pub fn error(check: &'static str, what: impl Into<String>, hint: impl Into<String>) -> Finding {
    Finding { level: Level::Error, check, what: what.into(), hint: hint.into() }
}

pub fn warning(check: &'static str, what: impl Into<String>, hint: impl Into<String>) -> Finding {
    Finding { level: Level::Warning, check, what: what.into(), hint: hint.into() }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Warning => "warning",
            Level::Error => "error",
        };
        write!(f, "{level}[{}]: {}", self.check, self.what)?;
        if !self.hint.is_empty() {
            write!(f, "\n  hint: {}", self.hint)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_and_what_to_do() {
        let finding = error("names", "crates/a/src/utils.rs", "name it by what it holds");
        assert_eq!(
            finding.to_string(),
            "error[names]: crates/a/src/utils.rs\n  hint: name it by what it holds"
        );
        assert_eq!(warning("names", "x", "").to_string(), "warning[names]: x");
    }
}

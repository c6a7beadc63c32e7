//! Configuration errors: what is wrong, where it was set, and what to do.

use std::{fmt, path::PathBuf};

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    Default,
    File { path: PathBuf, line: usize },
    Variable(String),
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingError {
    /// The name of the setting in the file.
    pub key: String,
    pub origin: Origin,
    pub what: String,
    pub hint: String,
}

/// What is wrong with a value. The caller adds the key and the origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueError {
    pub what: String,
    pub hint: String,
}

impl ValueError {
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }

    pub fn at(self, key: impl Into<String>, origin: Origin) -> SettingError {
        SettingError { key: key.into(), origin, what: self.what, hint: self.hint }
    }
}

/// All errors of a configuration, at least one.
#[derive(Debug)]
pub struct SettingsError(pub Vec<SettingError>);

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            1 => writeln!(f, "invalid configuration: 1 problem")?,
            count => writeln!(f, "invalid configuration: {count} problems")?,
        }
        for error in &self.0 {
            let SettingError { key, origin, what, hint } = error;
            write!(f, "\n  {key} ({origin})\n    {what}")?;
            if !hint.is_empty() {
                write!(f, "\n    hint: {hint}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for SettingsError {}

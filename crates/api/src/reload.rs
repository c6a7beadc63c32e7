//! Reloads the settings of a running gateway, behind a trait: this crate does not know where they are.

/// Reads the settings again, without applying them.
pub trait ReloadService: Send + Sync {
    /// Returns a function that applies them, or why they are invalid.
    fn load(&self) -> Result<Box<dyn FnOnce() -> ReloadedSettings + Send + '_>, String>;
}

/// Names of the settings that have changed since they were last read.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ReloadedSettings {
    pub applied: Vec<&'static str>,
    pub needs_restart: Vec<&'static str>,
}

//! Reloading the settings of a gateway that runs, behind a trait: this crate does not know where they are.

/// Reads the settings again, without applying them.
pub trait ReloadService: Send + Sync {
    /// Returns what applies them, or why they are invalid.
    fn load(&self) -> Result<Box<dyn FnOnce() -> ReloadedSettings + Send + '_>, String>;
}

/// Names of the settings that have changed since they were read last.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ReloadedSettings {
    pub applied: Vec<&'static str>,
    pub needs_restart: Vec<&'static str>,
}

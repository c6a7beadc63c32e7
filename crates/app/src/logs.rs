//! Logs to standard error, as text or JSON. Secrets never reach the log, because their types do not show
//! them.

use std::{io::IsTerminal, sync::OnceLock};

use tracing_subscriber::{EnvFilter, fmt};

use crate::settings::LogFormat;

/// The log level of commands for people.
pub const QUIET: &str = "warn";

/// Replaces the filter of the running process.
static SET_FILTER: OnceLock<Box<dyn Fn(EnvFilter) + Send + Sync>> = OnceLock::new();

/// Libraries whose log lines repeat what the gateway logs itself, with its reaction.
const QUIETED: &str = "tokio_postgres=error,deadpool_postgres=error,deadpool=error";

/// Returns the filter of a level, which may name its own targets.
fn filter(level: &str) -> Option<EnvFilter> {
    EnvFilter::try_new(format!("{QUIETED},{level}")).ok()
}

/// Changes the log level of the running process.
pub fn set_level(level: &str) {
    if let (Some(set), Some(filter)) = (SET_FILTER.get(), filter(level)) {
        set(filter);
    }
}

pub fn start(format: LogFormat, level: &str) {
    // Commands without settings can still be debugged.
    #[expect(clippy::disallowed_methods, reason = "commands have no settings to read it from")]
    let requested = std::env::var("GANCHO_LOG").ok().filter(|_| level == QUIET);
    let filter =
        filter(requested.as_deref().unwrap_or(level)).unwrap_or_else(|| EnvFilter::new(QUIET));
    let (to_terminal, is_json) = (std::io::stderr().is_terminal(), is_json(format));
    // A closed log pipe must not end the gateway, which a reported error would do.
    let lines =
        fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false);
    // A second start, as in tests, changes nothing.
    if is_json {
        let lines = lines.json().flatten_event(true).with_current_span(true).with_span_list(false);
        let lines = lines.with_filter_reloading();
        let handle = lines.reload_handle();
        remember(move |filter| drop(handle.reload(filter)));
        let _ = lines.try_init();
    } else {
        let lines = lines.with_ansi(to_terminal).with_target(false).compact();
        let lines = lines.with_filter_reloading();
        let handle = lines.reload_handle();
        remember(move |filter| drop(handle.reload(filter)));
        let _ = lines.try_init();
    }
}

fn remember(set: impl Fn(EnvFilter) + Send + Sync + 'static) {
    let _ = SET_FILTER.set(Box::new(set));
}

/// Reports a fatal error in the format of the log, so that a program that reads the log does not miss it. For
/// people it stays the error of the command.
pub fn fatal(format: Option<LogFormat>, error: anyhow::Error, exit_code: u8) -> anyhow::Error {
    match format {
        Some(format) if is_json(format) => {
            start(format, QUIET);
            tracing::error!(error = format!("{error:#}"), "gancho failed");
            LoggedError { exit_code }.into()
        }
        _ => error,
    }
}

fn is_json(format: LogFormat) -> bool {
    match format {
        LogFormat::Json => true,
        LogFormat::Pretty => false,
        LogFormat::Auto => !std::io::stderr().is_terminal(),
    }
}

/// An error that is in the log already.
#[derive(Debug)]
pub struct LoggedError {
    pub exit_code: u8,
}

impl std::fmt::Display for LoggedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the log has the error")
    }
}

impl std::error::Error for LoggedError {}

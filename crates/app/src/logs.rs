//! Logging to standard error, as text or JSON. Secrets never reach the log, since their types do not
//! show them.

use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, fmt};

use crate::settings::LogFormat;

/// The log level of commands for people.
pub const QUIET: &str = "warn";

pub fn start(format: LogFormat, level: &str) {
    // Commands without settings can still be debugged.
    #[expect(clippy::disallowed_methods, reason = "commands have no settings to read it from")]
    let asked = std::env::var("GANCHO_LOG").ok().filter(|_| level == QUIET);
    let filter = EnvFilter::try_new(asked.as_deref().unwrap_or(level))
        .unwrap_or_else(|_| EnvFilter::new(QUIET));
    let to_terminal = std::io::stderr().is_terminal();
    // A closed log pipe must not end the gateway, as reporting it would.
    let lines =
        fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false);
    let is_json = match format {
        LogFormat::Json => true,
        LogFormat::Pretty => false,
        LogFormat::Auto => !to_terminal,
    };
    // A second start, as in tests, changes nothing.
    if is_json {
        let _ = lines
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .try_init();
    } else {
        let _ = lines.with_ansi(to_terminal).with_target(false).compact().try_init();
    }
}

//! Log lines on standard error: for people, or as JSON for programs. What is secret never reaches
//! them, as the types that hold it do not show it.

use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, fmt};

use crate::settings::LogFormat;

/// What commands for people log: trouble only.
pub const QUIET: &str = "warn";

pub fn start(format: LogFormat, level: &str) {
    // `GANCHO_LOG` is for looking into one command without touching its settings.
    let filter = EnvFilter::try_from_env("GANCHO_LOG")
        .or_else(|_| EnvFilter::try_new(level))
        .unwrap_or_else(|_| EnvFilter::new(QUIET));
    let to_terminal = std::io::stderr().is_terminal();
    let lines = fmt().with_env_filter(filter).with_writer(std::io::stderr);
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

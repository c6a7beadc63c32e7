//! Mistakes in the command line: one line and a hint, as for every other error.

use clap::{Command, CommandFactory, error::ErrorKind};
use serde_json::json;

use super::failure::{USAGE, print_error};
use crate::cli::Cli;

/// Whether the error is a mistake of the user. Clap prints the rest itself: `--help`, `--version`, and the
/// help of a command that does nothing without a subcommand.
pub fn is_mistake(error: &clap::Error) -> bool {
    error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

/// Prints the error and returns the exit code.
pub fn report_usage(error: &clap::Error, as_json: bool) -> u8 {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|one| one.to_string_lossy().into_owned()).collect();
    let (what, hint) = message(&error.to_string(), &named(&arguments));
    if as_json {
        let shown = json!({ "code": "usage", "message": what, "hint": hint, "exit_code": USAGE });
        eprintln!("{}", json!({ "error": shown }));
    } else {
        print_error(&what, Some(&hint));
    }
    USAGE
}

/// Returns the first paragraph in one line, and clap's tip. Without a tip, refers to the help of the command.
fn message(text: &str, command: &str) -> (String, String) {
    let first = text.split("\n\n").next().unwrap_or(text);
    let lines: Vec<&str> = first.lines().map(str::trim).collect();
    let what = lines.join(" ");
    let what = what.strip_prefix("error: ").unwrap_or(&what).to_owned();
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let hint = tip.map_or_else(
        || format!("see `{command} --help`"),
        |tip| nearest(tip).map_or_else(|| tip.to_owned(), |name| format!("did you mean `{name}`?")),
    );
    (what, hint)
}

/// Returns the name that is most like the one that was typed: clap lists those alike, and the best one last.
fn nearest(tip: &str) -> Option<&str> {
    let (_, names) = tip.split_once("similar")?.1.split_once("exist")?;
    names.strip_suffix('\'')?.rsplit('\'').next()
}

/// Returns the command that the arguments name, as far as they name one: `gancho sources show`.
fn named(arguments: &[String]) -> String {
    let mut command: Command = Cli::command();
    let mut name = command.get_name().to_owned();
    for argument in arguments {
        if let Some(next) = command.find_subcommand(argument) {
            name = format!("{name} {}", next.get_name());
            command = next.clone();
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_that_is_named_is_that_of_the_command() {
        let named = |line: &str| {
            let arguments: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
            named(&arguments)
        };
        assert_eq!(named("sources keys add acme --jsno"), "gancho sources keys add");
        assert_eq!(named("soruces list"), "gancho");
        assert_eq!(named("sources lsit"), "gancho sources");
    }

    #[test]
    fn the_nearest_name_is_proposed() {
        let hint = |line: &str| {
            let error = Cli::command().try_get_matches_from(line.split(' ')).unwrap_err();
            message(&error.to_string(), "gancho").1
        };
        assert_eq!(hint("gancho emals"), "did you mean `emails`?");
        assert_eq!(hint("gancho deliveries lst"), "did you mean `list`?");
        assert_eq!(hint("gancho deliveries list --statuss x"), "did you mean `--status`?");
        assert_eq!(hint("gancho version x"), "see `gancho --help`");
    }
}

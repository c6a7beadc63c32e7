//! Input of commands: files, standard input, secrets and confirmations. Secrets come from a file, an
//! environment variable or standard input, never from the command line, where the shell history and
//! other users would see them.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufRead, IsTerminal, Read, Write},
    path::Path,
    time::Duration,
};

use anyhow::{Context, anyhow};
use clap::Args;
use gancho_domain::{Clock, SystemClock, span};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde::Serialize;
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

use super::Failure;

/// Reads a file, or standard input for `-`.
pub fn text(path: &Path) -> anyhow::Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
        return Ok(text);
    }
    std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

/// Reads bytes from a file, or standard input for `-`.
pub fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
        return Ok(bytes);
    }
    std::fs::read(path).map_err(|error| unreadable(path, &error))
}

/// Creates a file that must not exist yet.
pub fn new_file(path: &Path) -> anyhow::Result<File> {
    File::create_new(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::usage(format!(
            "{} exists already. hint: choose another name, or remove it first",
            path.display()
        )),
        _ => Failure::usage(format!("cannot create {}: {error}", path.display())),
    })
}

pub fn unreadable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let hint = match error.kind() {
        std::io::ErrorKind::NotFound => ". hint: check the path; `-` is standard input",
        _ => "",
    };
    Failure::usage(format!("cannot read {}: {error}{hint}", path.display()))
}

/// Reads JSON from a file and passes it on byte for byte.
pub fn json(path: &Path) -> anyhow::Result<Box<RawValue>> {
    let text = text(path)?;
    parse(text.trim())
        .map_err(|error| Failure::usage(format!("{} is not JSON: {error}", path.display())))
}

/// Reads text that starts with `{` as JSON, and anything else as a JSON string.
pub fn json_or_word(text: &str) -> anyhow::Result<Box<RawValue>> {
    if text.starts_with('{') {
        return parse(text).map_err(|error| {
            Failure::usage(format!("a value that starts with {{ must be valid JSON: {error}"))
        });
    }
    Ok(to_raw_value(text)?)
}

fn parse(text: &str) -> serde_json::Result<Box<RawValue>> {
    RawValue::from_string(text.to_owned())
}

/// The origin of a secret.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct SecretFrom {
    /// Read the secret from this file, or from standard input if it is `-`. A trailing newline is removed.
    #[arg(long, value_name = "FILE")]
    secret_file: Option<std::path::PathBuf>,
    /// Read the secret from this environment variable.
    #[arg(long, value_name = "NAME")]
    secret_env: Option<String>,
}

impl SecretFrom {
    pub fn read(&self) -> anyhow::Result<Option<String>> {
        if let Some(path) = &self.secret_file {
            return secret(path).map(Some);
        }
        let Some(name) = &self.secret_env else { return Ok(None) };
        #[expect(clippy::disallowed_methods, reason = "the variable is named on the command line")]
        let text = std::env::var(name)
            .map_err(|_| Failure::usage(format!("the environment variable {name} is not set")))?;
        Ok(Some(text))
    }

    /// As [`Self::read`], but there must be a secret: if no flag names it, the variable GANCHO_SECRET has it.
    pub fn required(&self) -> anyhow::Result<String> {
        if let Some(secret) = self.read()? {
            return Ok(secret);
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "a secret is not an argument, where others would see it"
        )]
        let secret = std::env::var("GANCHO_SECRET").ok().filter(|secret| !secret.is_empty());
        secret.ok_or_else(|| {
            Failure::usage(
                "no secret is given. hint: set GANCHO_SECRET, or use --secret-file or --secret-env",
            )
        })
    }
}

/// Reads a secret from a file or standard input.
pub fn secret(path: &Path) -> anyhow::Result<String> {
    let text = text(path)?;
    let secret = text.strip_suffix('\n').unwrap_or(&text);
    Ok(secret.strip_suffix('\r').unwrap_or(secret).to_owned())
}

/// Reads a line that a person types, without showing it.
pub fn hidden_line() -> anyhow::Result<String> {
    let stdin = std::io::stdin();
    let visible = tcgetattr(&stdin)?;
    let mut hidden = visible.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&stdin, OptionalActions::Flush, &hidden)?;
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    tcsetattr(&stdin, OptionalActions::Flush, &visible)?;
    read.context("cannot read standard input")?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Converts a time, or a duration from now, into a time for the API.
pub fn time(text: &str) -> String {
    match span::parse(text) {
        Ok(span) => (SystemClock.now() + span.max(Duration::from_millis(1))).to_string(),
        Err(_) => text.to_owned(),
    }
}

/// Reads a rate such as `100/s` or `600/1m` for the API. `none` removes the limit.
pub fn rate(text: &str) -> anyhow::Result<Value> {
    if text == "none" {
        return Ok(Value::Null);
    }
    let invalid = || {
        Failure::usage(format!("`{text}` is not a rate. hint: for example, 100/s, 600/1m or none"))
    };
    let (count, per) = text.split_once('/').ok_or_else(invalid)?;
    let count: u64 = count.trim().replace('_', "").parse().map_err(|_| invalid())?;
    let per = if per.starts_with(|one: char| one.is_ascii_digit()) {
        per.to_owned()
    } else {
        format!("1{per}")
    };
    span::parse(&per).map_err(|_| invalid())?;
    Ok(json!({ "count": count, "per": per }))
}

/// Reads `NAME=VALUE`.
pub fn pair<'a>(text: &'a str, example: &str) -> anyhow::Result<(&'a str, &'a str)> {
    // Not repeated in the message, because it may be a secret.
    text.split_once('=').ok_or_else(|| {
        Failure::usage(format!("not of the form NAME=VALUE. hint: for example, {example}"))
    })
}

/// A request body with the fields that were given and no others.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Draft(BTreeMap<&'static str, Box<RawValue>>);

impl Draft {
    pub fn put(&mut self, name: &'static str, value: impl Serialize) -> anyhow::Result<()> {
        self.0.insert(name, to_raw_value(&value)?);
        Ok(())
    }

    pub fn maybe(
        &mut self,
        name: &'static str,
        value: Option<impl Serialize>,
    ) -> anyhow::Result<()> {
        value.map_or(Ok(()), |value| self.put(name, value))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fails if there is nothing to change.
    pub fn require(&self, example: &str) -> anyhow::Result<()> {
        if self.is_empty() {
            return Err(Failure::usage(format!(
                "nothing to change. hint: give a property, e.g. {example}"
            )));
        }
        Ok(())
    }
}

/// Asks for confirmation before a change that cannot be undone. Without a terminal, `--yes` is required.
pub fn confirmed(question: &str, yes: bool) -> anyhow::Result<()> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(format!(
            "{question} stdin is not a terminal. hint: pass --yes to confirm"
        )));
    }
    anstream::eprint!("{question} [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()) {
        return Ok(());
    }
    Err(anyhow!("canceled; nothing was changed"))
}

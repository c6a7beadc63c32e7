//! What a person hands to a command: files, standard input, secrets, a yes. Secrets come from a file, a
//! variable or standard input, never from the command line, where history and other users would see
//! them.

use std::{
    collections::BTreeMap,
    io::{BufRead, IsTerminal, Read, Write},
    path::Path,
    time::Duration,
};

use anyhow::{Context, anyhow};
use clap::Args;
use gancho_domain::{Clock, SystemClock, span};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::Failure;

/// A file's text, or that of standard input for `-`.
pub fn text(path: &Path) -> anyhow::Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("standard input cannot be read")?;
        return Ok(text);
    }
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// JSON as it stands in a file. It is passed on byte for byte.
pub fn json(path: &Path) -> anyhow::Result<Box<RawValue>> {
    let text = text(path)?;
    parse(text.trim()).with_context(|| format!("{} is not JSON", path.display()))
}

/// JSON as it stands, or a word, which then is a text.
pub fn json_or_word(text: &str) -> anyhow::Result<Box<RawValue>> {
    if text.starts_with('{') {
        return parse(text).context("what begins with { must be JSON");
    }
    Ok(to_raw_value(text)?)
}

fn parse(text: &str) -> anyhow::Result<Box<RawValue>> {
    Ok(RawValue::from_string(text.to_owned())?)
}

/// Where a secret comes from.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct SecretFrom {
    /// Read the secret from this file; - is standard input. A line break at its end is left out.
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
        let text = std::env::var(name).map_err(|_| anyhow!("there is no variable {name}"))?;
        Ok(Some(text))
    }
}

/// A secret that a file or standard input holds.
pub fn secret(path: &Path) -> anyhow::Result<String> {
    let text = text(path)?;
    let secret = text.strip_suffix('\n').unwrap_or(&text);
    Ok(secret.strip_suffix('\r').unwrap_or(secret).to_owned())
}

/// A time, or a span from now on, as the API takes it.
pub fn time(text: &str) -> String {
    match span::parse(text) {
        Ok(span) => (SystemClock.now() + span.max(Duration::from_millis(1))).to_string(),
        Err(_) => text.to_owned(),
    }
}

/// A body for the API, of what was given and nothing else.
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
}

/// Asks before what cannot be undone. A program must say so beforehand.
pub fn confirmed(question: &str, yes: bool) -> anyhow::Result<()> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(format!(
            "{question} Nobody is there to be asked. hint: say so with --yes"
        )));
    }
    anstream::eprint!("{question} [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()) {
        return Ok(());
    }
    Err(anyhow!("nothing was done"))
}

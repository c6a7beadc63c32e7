//! `gancho dlq import`: restores archived or exported dead letters.
//!
//! A file has one JSON document after the other: one, as in the archive, or one per line, as an export writes
//! them.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json, value::RawValue};

use super::letters_of;
use crate::{
    commands::{
        Failure,
        client::ClientArgs,
        input,
        progress::Progress,
        table::{self, Table, cell, text},
    },
    remote::{ApiError, Remote},
};

/// Maximum dead letters, and approximate bytes, in a request.
const MAX_LETTERS: usize = 100;
const MAX_BYTES: usize = 4 << 20;

#[derive(Debug, Args)]
pub struct Import {
    /// Files with dead letters: archived ones, or what `gancho dlq export` wrote. `-` is standard input. A directory
    /// means the `.json` files in it and below.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    client: ClientArgs,
}

/// A dead letter, and where it was read.
struct Entry {
    place: String,
    letter: Box<RawValue>,
}

#[derive(Default)]
struct Totals {
    imported: u64,
    present: u64,
    skipped: Vec<Value>,
}

impl Import {
    pub async fn run(self) -> anyhow::Result<()> {
        let mut paths = Vec::new();
        for path in &self.files {
            add_files(path, &mut paths)?;
        }
        let remote = self.client.gateway().await?;
        let mut progress = Progress::new("importing", paths.len() as u64);
        let (mut totals, mut batch, mut bytes) = (Totals::default(), Vec::new(), 0);
        for (done, path) in (1..).zip(&paths) {
            for entry in read(path).map_err(|error| totals.so_far(error))? {
                bytes += entry.letter.get().len();
                batch.push(entry);
                if batch.len() == MAX_LETTERS || bytes > MAX_BYTES {
                    totals.send(&remote, std::mem::take(&mut batch)).await?;
                    bytes = 0;
                }
            }
            progress.at(done);
        }
        if !batch.is_empty() {
            totals.send(&remote, batch).await?;
        }
        drop(progress);
        totals.report(self.client.json)
    }
}

impl Totals {
    async fn send(&mut self, remote: &Remote, batch: Vec<Entry>) -> anyhow::Result<()> {
        let letters: Vec<&RawValue> = batch.iter().map(|entry| &*entry.letter).collect();
        let done = match remote.post("/v1/dlq/import", &json!({ "letters": letters })).await {
            Ok(done) => done,
            Err(error) => {
                let placed = error.api_error().and_then(|refused| placed(refused, &batch));
                return Err(self.so_far(match placed {
                    Some(text) => Failure::usage(text),
                    None => error.into(),
                }));
            }
        };
        self.imported += done["imported"].as_u64().unwrap_or(0);
        self.present += done["present"].as_u64().unwrap_or(0);
        for skipped in done["skipped"].as_array().into_iter().flatten() {
            let index = skipped["index"].as_u64().unwrap_or(0) as usize;
            let place = batch.get(index).map(|entry| entry.place.clone());
            self.skipped
                .push(json!({ "place": place, "id": skipped["id"], "reason": skipped["reason"] }));
        }
        Ok(())
    }

    /// Adds to an error what was imported before it.
    fn so_far(&self, error: anyhow::Error) -> anyhow::Error {
        match self.imported + self.present {
            0 => error,
            count => Failure::partly(format!(
                "{error:#}; {} before it are imported. hint: correct it and import all of them again: what is in the store already is not written twice",
                letters_of(count)
            )),
        }
    }

    fn report(&self, as_json: bool) -> anyhow::Result<()> {
        let Self { imported, present, skipped } = self;
        if as_json {
            return table::json(
                &json!({ "imported": imported, "present": present, "skipped": skipped }),
            );
        }
        table::say(&format!("Imported {}.", letters_of(*imported)))?;
        if *present > 0 {
            table::say(&format!("{} were in the store already.", letters_of(*present)))?;
        }
        if !skipped.is_empty() {
            let mut shown = Table::new(&["skipped", "delivery", "reason"]);
            for one in skipped {
                shown.row([
                    cell(text(&one["place"])),
                    cell(text(&one["id"])),
                    cell(text(&one["reason"])),
                ]);
            }
            shown.print()?;
        }
        Ok(())
    }
}

/// Returns the first error of a dead letter, with its file and line.
fn placed(refused: &ApiError, batch: &[Entry]) -> Option<String> {
    let (pointer, message) = refused.errors.first()?;
    let pointer = pointer.strip_prefix("/letters/")?;
    let (index, field) = pointer.split_once('/').unwrap_or((pointer, ""));
    let entry = batch.get(index.parse::<usize>().ok()?)?;
    let more = match refused.errors.len() - 1 {
        0 => String::new(),
        more => format!(" ({more} more)"),
    };
    let field = if field.is_empty() { String::new() } else { format!("{field}: ") };
    Some(format!(
        "{}: {field}{message}{more}; nothing of this batch was imported. hint: correct it and import the file again",
        entry.place
    ))
}

/// Adds the files at and below a path, in order.
fn add_files(path: &Path, paths: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if !path.is_dir() {
        paths.push(path.to_owned());
        return Ok(());
    }
    let entries = std::fs::read_dir(path).map_err(|error| input::unreadable(path, &error))?;
    let mut below = Vec::new();
    for entry in entries {
        below.push(entry.with_context(|| format!("cannot read {}", path.display()))?.path());
    }
    below.sort();
    for path in below {
        let is_letter = path.extension().is_some_and(|extension| extension == "json");
        if path.is_dir() || is_letter {
            add_files(&path, paths)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Vec<Entry>> {
    let bytes = input::bytes(path)?;
    let shown = if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let mut documents = serde_json::Deserializer::from_slice(&bytes).into_iter::<Box<RawValue>>();
    let mut entries = Vec::new();
    let (mut line, mut counted) = (1, 0);
    loop {
        let from = documents.byte_offset();
        let blank = bytes[from..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        line += bytes[counted..from + blank].split(|byte| *byte == b'\n').count() - 1;
        counted = from + blank;
        let place = format!("{shown}, line {line}");
        let invalid = |why: String| {
            Failure::usage(format!(
                "{place}: {why}. hint: a dead letter is a JSON object, as in the archive or as `gancho dlq export` writes it"
            ))
        };
        match documents.next() {
            None if entries.is_empty() => return Err(invalid("there is no dead letter".into())),
            None => return Ok(entries),
            Some(Err(error)) => return Err(invalid(format!("not JSON: {error}"))),
            Some(Ok(document)) => {
                let letter = letter(&document).map_err(|error| invalid(error.to_string()))?;
                entries.push(Entry { place, letter });
            }
        }
    }
}

/// Converts to the form of the API: archived dead letters have keys in camel case, and the tenant's name as
/// well.
fn letter(document: &RawValue) -> Result<Box<RawValue>, serde_json::Error> {
    let members: Members = serde_json::from_str(document.get())?;
    if !members.contains_key("deliveryId") {
        return Ok(document.to_owned());
    }
    let mut letter = Members::new();
    for (key, value) in members {
        let value = if key == "attempts" { attempts(&value)? } else { value };
        match key.as_str() {
            "tenant" => continue,
            "deliveryId" => letter.insert("id".to_owned(), value),
            "movedToDLQAt" => letter.insert("moved_to_dlq_at".to_owned(), value),
            key => letter.insert(snake_case(key), value),
        };
    }
    serde_json::value::to_raw_value(&letter)
}

type Members = std::collections::BTreeMap<String, Box<RawValue>>;

fn attempts(list: &RawValue) -> Result<Box<RawValue>, serde_json::Error> {
    let attempts: Vec<Members> = serde_json::from_str(list.get())?;
    let renamed = |one: Members| one.into_iter().map(|(key, value)| (snake_case(&key), value));
    let attempts: Vec<Members> = attempts.into_iter().map(|one| renamed(one).collect()).collect();
    serde_json::value::to_raw_value(&attempts)
}

fn snake_case(key: &str) -> String {
    let mut name = String::with_capacity(key.len() + 4);
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archived_letter_gets_the_names_of_the_api() {
        let archived = r#"{"deliveryId":"dlv_1","tenant":"m2","movedToDLQAt":"t","originalData":{"aB": 1.50},
            "originalDataBase64":"e30=","attempts":[{"latencyMs":1.5,"responseBodyBase64":null}]}"#;
        let raw = RawValue::from_string(archived.to_owned()).unwrap();
        let text = letter(&raw).unwrap().get().to_owned();
        assert!(text.contains(r#""original_data":{"aB": 1.50}"#), "byte for byte: {text}");
        let read: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
        let names: Vec<&str> = read.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["attempts", "id", "moved_to_dlq_at", "original_data", "original_data_base64"]
        );
        assert_eq!(read["attempts"][0]["latency_ms"], 1.5);
        let exported = RawValue::from_string(r#"{"id":"dlv_1"}"#.to_owned()).unwrap();
        assert_eq!(letter(&exported).unwrap().get(), exported.get());
    }
}

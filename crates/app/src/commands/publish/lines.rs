//! Reads the lines of a file of events, checks each and adds an idempotency key.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};

use anyhow::Context;
use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::commands::input;

pub struct Lines {
    reader: Box<dyn BufRead + Send>,
    /// The type of every line, if lines are data alone.
    event_type: Option<String>,
    run: String,
    /// The number of the last line.
    number: u64,
    /// Of the file; nothing for standard input.
    pub size: Option<u64>,
    pub read: u64,
}

/// One line that is not blank.
pub struct Line {
    pub number: u64,
    /// The event as it is sent, or why it cannot be.
    pub event: Result<String, String>,
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    idempotency_key: Option<&'a RawValue>,
}

impl Lines {
    pub fn open(path: &Path, event_type: Option<String>, run: &str) -> anyhow::Result<Self> {
        let (reader, size): (Box<dyn Read + Send>, _) = if path == Path::new("-") {
            (Box::new(std::io::stdin()), None)
        } else {
            let file = File::open(path).map_err(|error| input::unreadable(path, &error))?;
            let size = file.metadata()?.len();
            (Box::new(file), Some(size))
        };
        let reader = Box::new(BufReader::with_capacity(1 << 20, reader));
        Ok(Self { reader, event_type, run: run.to_owned(), number: 0, size, read: 0 })
    }

    /// Returns the next line that is not blank; `None` at the end.
    pub fn next(&mut self) -> anyhow::Result<Option<Line>> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = self.reader.read_until(b'\n', &mut line);
            let read =
                read.with_context(|| format!("cannot read the input after line {}", self.number))?;
            if read == 0 {
                return Ok(None);
            }
            self.read += read as u64;
            self.number += 1;
            let line = line.trim_ascii();
            if !line.is_empty() {
                return Ok(Some(Line { number: self.number, event: self.event(line) }));
            }
        }
    }

    /// Returns the event with a key of the run, the line and its number, unless it has its own. So a file
    /// that is sent twice is published once.
    fn event(&self, line: &[u8]) -> Result<String, String> {
        let text = std::str::from_utf8(line).map_err(|_| "not UTF-8".to_owned())?;
        let key = || {
            let hash = HEXLOWER.encode(&digest(&SHA256, line).as_ref()[..12]);
            let key = format!("{}:{}:{hash}", self.run, self.number);
            serde_json::Value::from(key).to_string()
        };
        if let Some(event_type) = &self.event_type {
            serde_json::from_str::<&RawValue>(text).map_err(|error| not_json(&error))?;
            let event_type = serde_json::Value::from(event_type.as_str());
            return Ok(format!(
                "{{\"type\":{event_type},\"idempotency_key\":{},\"data\":{text}}}",
                key()
            ));
        }
        if !text.starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok() {
            return Err("not an object with `type` and `data`".to_owned());
        }
        let fields: Fields<'_> = serde_json::from_str(text).map_err(|error| not_json(&error))?;
        if fields.idempotency_key.is_some() {
            return Ok(text.to_owned());
        }
        let rest = text[1..].trim_start();
        let comma = if rest.starts_with('}') { "" } else { "," };
        Ok(format!("{{\"idempotency_key\":{}{comma}{rest}", key()))
    }
}

fn not_json(error: &serde_json::Error) -> String {
    format!("not valid JSON (column {})", error.column())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str, event_type: Option<&str>) -> Vec<(u64, Result<String, String>)> {
        let mut lines = Lines {
            reader: Box::new(text.as_bytes()),
            event_type: event_type.map(ToOwned::to_owned),
            run: "r".into(),
            number: 0,
            size: None,
            read: 0,
        };
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push((line.number, line.event));
        }
        all
    }

    #[test]
    fn each_line_gets_a_key_unless_it_has_one() {
        let lines = read(
            "{\"type\":\"a.b\",\"data\":1}\n\n{ }\n{\"idempotency_key\":\"k\"}\nno\n[1]\n",
            None,
        );
        let numbers: Vec<u64> = lines.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 3, 4, 5, 6]);
        let first: serde_json::Value = serde_json::from_str(lines[0].1.as_ref().unwrap()).unwrap();
        assert_eq!((&first["type"], &first["data"]), (&"a.b".into(), &1.into()));
        assert!(first["idempotency_key"].as_str().unwrap().starts_with("r:1:"));
        serde_json::from_str::<serde_json::Value>(lines[1].1.as_ref().unwrap()).unwrap();
        assert_eq!(lines[2].1.as_deref(), Ok("{\"idempotency_key\":\"k\"}"));
        assert!(lines[3].1.as_ref().unwrap_err().contains("not valid JSON"));
        assert!(lines[4].1.as_ref().unwrap_err().contains("not an object"));
    }

    #[test]
    fn with_a_type_the_line_is_the_data() {
        let lines = read("{\"n\":1}\n7\n", Some("a.b"));
        let event: serde_json::Value = serde_json::from_str(lines[1].1.as_ref().unwrap()).unwrap();
        assert_eq!((&event["type"], &event["data"]), (&"a.b".into(), &7.into()));
    }
}

//! Counts what was accepted, and says exactly what was not.

use std::{
    collections::BTreeSet,
    io::{BufWriter, Stdout, Write},
};

use serde_json::{Value, json};

use crate::{
    commands::{
        Failure,
        table::{self, count, text},
    },
    remote::RemoteError,
};

/// Refused lines that are named one by one.
const MAX_NAMED: usize = 20;

pub struct Counters {
    pub accepted: u64,
    /// Of the accepted, those that were published before.
    repeated: u64,
    refused: Vec<Value>,
    refusals: u64,
    /// Lines that are on their way.
    in_flight: BTreeSet<u64>,
    unknown: Vec<u64>,
    /// Lines that were read and surely not accepted.
    unsent: Vec<u64>,
    why: Option<String>,
    last: u64,
    ids: Option<BufWriter<Stdout>>,
}

impl Counters {
    pub fn new(prints_ids: bool) -> Self {
        Self {
            accepted: 0,
            repeated: 0,
            refused: Vec::new(),
            refusals: 0,
            in_flight: BTreeSet::new(),
            unknown: Vec::new(),
            unsent: Vec::new(),
            why: None,
            last: 0,
            ids: prints_ids.then(|| BufWriter::new(std::io::stdout())),
        }
    }

    pub fn sending(&mut self, lines: impl Iterator<Item = u64>) {
        self.in_flight.extend(lines);
        self.last = self.in_flight.last().copied().unwrap_or(0).max(self.last);
    }

    pub fn add(&mut self, line: u64, result: &Value) {
        self.in_flight.remove(&line);
        let Some(id) = result["id"].as_str() else {
            let error = &result["error"];
            let why = match error["errors"][0]["pointer"].as_str() {
                Some(at) => format!("{} ({at})", text(&error["errors"][0]["detail"])),
                None => text(&error["detail"]),
            };
            self.refuse(line, &text(&error["code"]), &why);
            return;
        };
        self.accepted += 1;
        self.repeated += u64::from(result["replayed"] == true);
        if let Some(out) = &mut self.ids {
            // A reader that has gone does not change what is published.
            let _ = writeln!(out, "{line}\t{id}");
        }
    }

    pub fn refuse(&mut self, line: u64, code: &str, why: &str) {
        self.last = self.last.max(line);
        self.refusals += 1;
        if self.refused.len() < MAX_NAMED {
            self.refused.push(json!({ "line": line, "code": code, "detail": why }));
        }
    }

    /// These lines were not accepted, or their outcome could not be found out.
    pub fn stopped(&mut self, lines: &[u64], error: &RemoteError) {
        for line in lines {
            self.in_flight.remove(line);
        }
        if matches!(error, RemoteError::Interrupted(_)) {
            self.unknown.extend(lines);
        } else {
            self.unsent.extend(lines);
        }
        self.why = Some(error.to_string());
    }

    pub fn interrupted(&mut self, why: String) {
        self.why = Some(why);
    }

    /// Prints the counts. Fails if not every line was accepted.
    pub fn finish(mut self, as_json: bool) -> anyhow::Result<()> {
        if let Some(out) = &mut self.ids {
            let _ = out.flush();
        }
        self.unknown.extend(&self.in_flight);
        let unknown = self.unknown.iter().min().zip(self.unknown.iter().max());
        // Nothing is known of later lines than the last one, since they were not read.
        let rest = self.unsent.iter().min().copied().unwrap_or(self.last + 1);
        let resume = self.why.is_some().then_some(rest);
        if as_json {
            table::json(&json!({
                "accepted": self.accepted,
                "repeated": self.repeated,
                "refused": self.refusals,
                "refusals": self.refused,
                "unknown": self.unknown.len(),
                "unknown_lines": unknown.map(|(first, last)| [*first, *last]),
                "not_sent_from_line": resume,
            }))?;
        } else {
            self.tell();
        }
        match self.why {
            Some(why) => {
                let lines = match unknown {
                    Some((first, last)) => {
                        format!("; the outcome of lines {first} to {last} is unknown")
                    }
                    None => String::new(),
                };
                Err(Failure::partly(format!(
                    "{why}{lines}; line {rest} and later ones were not sent. hint: run the same command again; what was published is not published twice"
                )))
            }
            None if self.refusals > 0 => Err(Failure::partly(format!(
                "{} were not accepted",
                table::many(self.refusals as usize, "line")
            ))),
            None => Ok(()),
        }
    }

    fn tell(&self) {
        for refusal in &self.refused {
            let detail = table::clean(&text(&refusal["detail"]));
            anstream::eprintln!("line {} not accepted: {detail}", refusal["line"]);
        }
        if self.refusals > self.refused.len() as u64 {
            anstream::eprintln!("… and {} more", count(self.refusals - self.refused.len() as u64));
        }
        let repeated = match self.repeated {
            0 => String::new(),
            number => format!(", {} of them before", count(number)),
        };
        anstream::eprintln!("{} published{repeated}", table::many(self.accepted as usize, "event"));
    }
}

//! Counts what was accepted, and reports exactly what was not.

use std::{
    collections::BTreeMap,
    fmt,
    io::{BufWriter, Stdout, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::{Value, json};

use crate::{
    commands::{
        Failure,
        table::{self, count, text},
    },
    remote::RemoteError,
};

/// Maximum refused lines that are named one by one.
const MAX_NAMED: usize = 20;

pub struct Counters {
    pub accepted: u64,
    /// Of the accepted, those that were published before.
    repeated: u64,
    refused: Vec<Value>,
    refusals: u64,
    /// Lines that are on their way, and whether the server may have them.
    in_flight: BTreeMap<u64, Arc<AtomicBool>>,
    unknown: Vec<u64>,
    /// Lines that were read and surely not accepted.
    unsent: Vec<u64>,
    end: Option<EarlyEnd>,
    last: u64,
    ids: Option<BufWriter<Stdout>>,
}

/// Why not everything was sent.
enum EarlyEnd {
    Failed(RemoteError),
    Interrupted,
}

impl EarlyEnd {
    /// Returns what to do before the command is run again.
    fn hint(&self) -> String {
        match self {
            Self::Failed(error) if !error.is_passing() => {
                error.hint().map_or_else(String::new, |hint| format!("{hint}; then "))
            }
            Self::Failed(_) | Self::Interrupted => String::new(),
        }
    }
}

impl fmt::Display for EarlyEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => write!(f, "{error}"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl Counters {
    pub fn new(prints_ids: bool) -> Self {
        Self {
            accepted: 0,
            repeated: 0,
            refused: Vec::new(),
            refusals: 0,
            in_flight: BTreeMap::new(),
            unknown: Vec::new(),
            unsent: Vec::new(),
            end: None,
            last: 0,
            ids: prints_ids.then(|| BufWriter::new(std::io::stdout())),
        }
    }

    /// Notes that lines are being sent. `in_doubt` says at any time whether the server may have them although
    /// no response says so.
    pub fn sending(&mut self, lines: impl Iterator<Item = u64>, in_doubt: &Arc<AtomicBool>) {
        self.in_flight.extend(lines.map(|line| (line, in_doubt.clone())));
        let last = self.in_flight.last_key_value().map_or(0, |(line, _)| *line);
        self.last = self.last.max(last);
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
            // A closed output does not change what is published.
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

    /// Notes that these lines were not accepted, or that their outcome is unknown.
    pub fn stopped(&mut self, lines: &[u64], error: RemoteError) {
        for line in lines {
            let in_doubt = self.in_flight.remove(line);
            self.leave(*line, in_doubt.is_some_and(|in_doubt| in_doubt.load(Ordering::Relaxed)));
        }
        self.end = Some(EarlyEnd::Failed(error));
    }

    pub fn interrupted(&mut self) {
        self.end = Some(EarlyEnd::Interrupted);
    }

    fn leave(&mut self, line: u64, in_doubt: bool) {
        let lines = if in_doubt { &mut self.unknown } else { &mut self.unsent };
        lines.push(line);
    }

    /// Prints the counts. Fails if not every line was accepted.
    pub fn finish(mut self, as_json: bool) -> anyhow::Result<()> {
        if let Some(out) = &mut self.ids {
            let _ = out.flush();
        }
        for (line, in_doubt) in std::mem::take(&mut self.in_flight) {
            self.leave(line, in_doubt.load(Ordering::Relaxed));
        }
        let unknown = self.unknown.iter().min().zip(self.unknown.iter().max());
        // Nothing is known about lines after the last one, because they were not read.
        let rest = self.unsent.iter().min().copied().unwrap_or(self.last + 1);
        let resume = self.end.is_some().then_some(rest);
        let nothing = self.accepted == 0 && self.refusals == 0 && unknown.is_none();
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
        } else if !nothing || self.end.is_none() {
            self.print_errors();
        }
        match self.end {
            // The exit code and the hint are those of any other command.
            Some(EarlyEnd::Failed(error)) if nothing => {
                Err(anyhow::Error::from(error).context("nothing was published"))
            }
            Some(end) => {
                let lines = match unknown {
                    Some((first, last)) => {
                        format!("; the outcome of lines {first} to {last} is unknown")
                    }
                    None => String::new(),
                };
                let hint = end.hint();
                Err(Failure::partly(format!(
                    "{end}{lines}; line {rest} and later ones were not sent. hint: {hint}run the same command again; what was published is not published twice"
                )))
            }
            None if self.refusals > 0 => Err(Failure::partly(format!(
                "{} were not accepted",
                table::many(self.refusals as usize, "line")
            ))),
            None => Ok(()),
        }
    }

    fn print_errors(&self) {
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

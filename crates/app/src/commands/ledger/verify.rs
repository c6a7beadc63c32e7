//! `gancho ledger verify`: every line must follow from the one before, and the whole must match the
//! checkpoints.

use std::time::Instant;

use clap::Args;
use gancho_inbound::PublicKey;
use gancho_ledger::{Audit, AuditError, Line, audit::AuditReport};
use serde_json::{Value, json};

use super::{
    LedgerArgs,
    book::{Book, InvalidCheckpoint},
    walk::{WalkError, walk},
};
use crate::{
    commands::{
        Failure,
        table::{self, Facts, count, many, text},
    },
    paint::{DIM, GREEN, YELLOW},
};

#[derive(Debug, Args)]
pub struct Verify {
    #[command(flatten)]
    which: LedgerArgs,
}

/// Why the ledger is invalid.
enum LedgerError {
    AuditError(AuditError, Option<Line>),
    Unreadable {
        after: u64,
        why: String,
    },
    SignedCheckpoint(InvalidCheckpoint),
    /// The ledger is shorter than the database says.
    End {
        found: u64,
        size: u64,
    },
}

impl Verify {
    pub async fn run(self) -> anyhow::Result<()> {
        let started = Instant::now();
        let mut book = Book::open(&self.which).await?;
        let size = book.store.ledger_size().await?;
        let outcome = audit(&mut book, size).await?;
        let took = started.elapsed().as_secs_f64();
        match outcome {
            Ok(audited) if self.which.json => table::json(&sound_json(&book, &audited, took)),
            Ok(audited) => tell_sound(&book, &audited, took),
            Err(error) => {
                if self.which.json {
                    table::json(&error.json(&book))?;
                }
                Err(Failure::does_not_hold(error.describe(&book, size)))
            }
        }
    }
}

/// Returns one line for `gancho doctor`; `None` for an empty ledger. A long one is not verified. The inner
/// error is that of an invalid ledger.
pub async fn summary(
    which: &LedgerArgs,
    max_lines: u64,
) -> anyhow::Result<Result<Option<String>, String>> {
    let mut book = Book::open(which).await?;
    let size = book.store.ledger_size().await?;
    if size == 0 {
        return Ok(Ok(None));
    }
    if size > max_lines {
        return Ok(Ok(Some(format!("{size} lines; `gancho ledger verify` verifies them"))));
    }
    let outcome = audit(&mut book, size).await?;
    let valid = |_| Some(format!("{size} lines and {} checkpoints are valid", book.notes.len()));
    Ok(outcome.map(valid).map_err(|error| error.what()))
}

async fn audit(book: &mut Book, size: u64) -> anyhow::Result<Result<AuditReport, LedgerError>> {
    if let Some(unsound) = book.unsound.drain(..).next() {
        return Ok(Err(LedgerError::SignedCheckpoint(unsound)));
    }
    let checkpoints = book.notes.iter().map(|note| note.checkpoint.clone()).collect();
    let audit = match Audit::new(checkpoints) {
        Ok(audit) => audit,
        Err(error) => return Ok(Err(LedgerError::AuditError(error, None))),
    };
    Ok(match walk(&book.store, None, audit, Audit::take).await? {
        Err(WalkError::AuditError(error, line)) => Err(LedgerError::AuditError(error, Some(line))),
        Err(WalkError::Unreadable { after, why }) => Err(LedgerError::Unreadable { after, why }),
        Ok(audit) => match audit.finish() {
            Err(error) => Err(LedgerError::AuditError(error, None)),
            Ok(audited) if audited.head.number < size => {
                Err(LedgerError::End { found: audited.head.number, size })
            }
            Ok(audited) => Ok(audited),
        },
    })
}

impl LedgerError {
    /// Returns the first affected line.
    fn number(&self) -> Option<u64> {
        match self {
            Self::AuditError(AuditError::Hole { expected, .. }, _) => Some(*expected),
            Self::AuditError(AuditError::Changed { number }, _) => Some(*number),
            Self::AuditError(AuditError::Short { found, .. }, _) | Self::End { found, .. } => {
                Some(found + 1)
            }
            Self::Unreadable { after, .. } => Some(after + 1),
            Self::AuditError(AuditError::Rewritten { .. } | AuditError::Forked { .. }, _)
            | Self::SignedCheckpoint(_) => None,
        }
    }

    fn what(&self) -> String {
        match self {
            Self::AuditError(error, _) => error.to_string(),
            Self::Unreadable { why, .. } => why.clone(),
            Self::SignedCheckpoint(unsound) => {
                format!("checkpoint {}: {}", unsound.place, unsound.why)
            }
            Self::End { found, size } => format!(
                "the ledger ends at line {found} but should have {size} lines: lines were removed from its end"
            ),
        }
    }

    /// Returns the content of the changed line. If lines are missing, the line found instead is not at fault.
    fn entry(&self) -> Value {
        match self {
            Self::AuditError(AuditError::Changed { .. }, Some(line)) => {
                serde_json::from_slice(&line.entry).unwrap_or_default()
            }
            _ => Value::Null,
        }
    }

    fn json(&self, book: &Book) -> Value {
        json!({
            "holds": false,
            "line": self.number(),
            "receipt": self.entry()["receipt"],
            "what": self.what(),
            "last_checkpoint_that_agrees": self.agreed(book),
        })
    }

    /// Returns the largest checkpoint before the error. All checkpoints before it were reached and match.
    fn agreed(&self, book: &Book) -> Option<u64> {
        let before = match self {
            Self::AuditError(AuditError::Rewritten { size, .. }, _) => *size,
            Self::SignedCheckpoint(_) | Self::AuditError(AuditError::Forked { .. }, _) => {
                return None;
            }
            _ => self.number()?,
        };
        let sizes = book.notes.iter().map(|note| note.checkpoint.size);
        sizes.filter(|size| *size < before).max()
    }

    fn describe(&self, book: &Book, size: u64) -> String {
        let entry = self.entry();
        let mut facts = Facts::default();
        if let Some(number) = self.number() {
            facts.add("first invalid line", format!("{} of {}", count(number), count(size)));
        }
        if entry["receipt"].is_string() {
            facts.add(
                "receipt",
                format!(
                    "{} of {}, received {} (as currently recorded)",
                    text(&entry["receipt"]),
                    text(&entry["partner"]),
                    text(&entry["at"])
                ),
            );
        }
        let agreed = match self.agreed(book) {
            Some(agreed) => {
                format!("lines up to {} match a signed checkpoint", count(agreed))
            }
            None => String::new(),
        };
        facts.add("still valid", agreed);
        facts.add("checkpoints", book.folder.display().to_string());
        let hint = match self {
            Self::SignedCheckpoint(_) if !book.are_own_keys => {
                "pass a file with all of the gateway's keys, including retired ones; otherwise the checkpoint was changed or is not this gateway's"
            }
            _ => {
                "preserve the database and the checkpoints as evidence, and compare them with a backup"
            }
        };
        format!("the ledger is invalid: {}\n{}  hint: {hint}", self.what(), facts.text())
    }
}

fn newest(book: &Book) -> Option<&super::book::SignedCheckpoint> {
    book.notes.iter().max_by_key(|note| note.checkpoint.size)
}

fn sound_json(book: &Book, audited: &AuditReport, took: f64) -> Value {
    let size = audited.head.number;
    let covered = newest(book).map_or(0, |note| note.checkpoint.size);
    json!({
        "holds": true,
        "lines": size,
        "root": audited.tree.root().base64(),
        "checkpoints_on_file": book.filed(),
        "checkpoints_in_database": book.notes.len() - book.filed(),
        "lines_without_checkpoint": size - covered,
        "keys": book.keys.iter().map(PublicKey::kid).collect::<Vec<_>>(),
        "keys_from_database": book.are_own_keys,
        "seconds": took,
    })
}

fn tell_sound(book: &Book, audited: &AuditReport, took: f64) -> anyhow::Result<()> {
    let size = audited.head.number;
    let lines = many(size as usize, "line");
    table::say(&format!("{GREEN}The ledger is valid:{GREEN:#} {lines}, verified in {took:.1} s."))?;
    let mut facts = Facts::default();
    facts.add("root", audited.tree.root().base64());
    let in_database = book.notes.len() - book.filed();
    let checkpoints = format!("{} on disk, {in_database} in the database; all match", book.filed());
    facts.add("checkpoints", if book.notes.is_empty() { "none".into() } else { checkpoints });
    if let Some(note) = newest(book) {
        let at = table::when(&note.checkpoint.made_at.as_str().into());
        facts
            .add("newest", format!("{}, signed {at}", many(note.checkpoint.size as usize, "line")));
    }
    let kids = book.keys.iter().map(PublicKey::kid).collect::<Vec<_>>().join(", ");
    facts.add("signed with", if book.notes.is_empty() { String::new() } else { kids });
    facts.print()?;
    for caution in cautions(book, size) {
        table::say(&format!("{YELLOW}note:{YELLOW:#} {caution}"))?;
    }
    Ok(())
}

/// Returns the limits of a successful verification.
fn cautions(book: &Book, size: u64) -> Vec<String> {
    let mut all = Vec::new();
    let covered = newest(book).map_or(0, |note| note.checkpoint.size);
    if size > covered {
        all.push(format!(
            "{} not covered by a checkpoint yet: chained, but not signed. {DIM}Sign one with `gancho ledger checkpoint`.{DIM:#}",
            many((size - covered) as usize, "line")
        ));
    }
    if size > 0 && book.filed() == 0 {
        all.push(format!(
            "no checkpoints found in {}: anyone who can write to the database could have rewritten the whole ledger. {DIM}Select a directory with copies using --checkpoints.{DIM:#}",
            book.folder.display()
        ));
    }
    if book.are_own_keys && !book.notes.is_empty() {
        all.push(format!(
            "the public keys come from the database itself. {DIM}Pass a copy of /.well-known/jwks.json from elsewhere with --keys.{DIM:#}"
        ));
    }
    all
}

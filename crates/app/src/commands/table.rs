//! Output for people: aligned tables and lists of facts. Control characters are replaced, so that data
//! from outside cannot control the terminal.

mod figures;

use std::{
    fmt::Write as _,
    io::{ErrorKind, IsTerminal, Write},
};

use anstyle::Style;
use serde_json::Value;

pub use figures::{age, ahead, count, many, millis, rate, size, when};

use crate::paint::{DIM, GREEN, RED, YELLOW};

pub struct Cell {
    text: String,
    style: Style,
    /// Whether it may be truncated to fit the terminal.
    is_flexible: bool,
}

/// Longer cells are truncated on a terminal, and do not widen their column elsewhere.
const MAX_WIDTH: usize = 64;
/// Flexible columns are not truncated further.
const MIN_WIDTH: usize = 8;
const GAP: usize = 2;

pub fn cell(text: impl AsRef<str>) -> Cell {
    let text = clean(text.as_ref());
    Cell { text, style: Style::new(), is_flexible: false }
}

/// Creates a cell whose end matters little, such as a URL: it is truncated if the table is wider than the
/// terminal.
pub fn flexible(text: impl AsRef<str>) -> Cell {
    Cell { is_flexible: true, ..cell(text) }
}

pub fn painted(text: impl AsRef<str>, style: Style) -> Cell {
    Cell { style, ..cell(text) }
}

/// Creates a cell with a state, in its color.
pub fn state(word: &str) -> Cell {
    let style = match word.to_ascii_lowercase().as_str() {
        "active" | "alive" | "resolved" | "valid" | "dispatched" | "sent" | "delivered"
        | "finished" | "ok" | "running" => GREEN,
        "paused" | "received" | "pending" | "retry_scheduled" | "retrying" | "not yet" | "slow"
        | "warn" | "waiting" | "silent" => YELLOW,
        "failed" | "firing" | "fired" | "dead" | "dlq" | "expired" | "disabled" | "failing"
        | "fail" | "revoked" => RED,
        _ => Style::new(),
    };
    painted(word, style)
}

pub struct Table {
    heads: &'static [&'static str],
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub fn new(heads: &'static [&'static str]) -> Self {
        Self { heads, rows: Vec::new() }
    }

    pub fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        self.rows.push(cells.into());
    }

    pub fn print(&self) -> anyhow::Result<()> {
        print(&self.text(terminal_width()))
    }

    fn text(&self, max: Option<usize>) -> String {
        let mut widths: Vec<usize> = self.heads.iter().map(|head| head.len()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.chars().count().min(MAX_WIDTH));
            }
        }
        if let Some(max) = max {
            self.shrink(&mut widths, max);
        }
        let heads: Vec<Cell> = self.heads.iter().map(|head| painted(head, DIM)).collect();
        let rows = std::iter::once(&heads).chain(&self.rows);
        rows.map(|row| line(row, &widths, max.is_some())).collect()
    }
}

impl Table {
    /// Shrinks the widest flexible column until the table fits.
    fn shrink(&self, widths: &mut [usize], max: usize) {
        let is_flexible = |column: usize| {
            self.rows.iter().any(|row| row.get(column).is_some_and(|cell| cell.is_flexible))
        };
        let flexible: Vec<usize> =
            (0..widths.len()).filter(|column| is_flexible(*column)).collect();
        while widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1) > max {
            let widest = flexible.iter().copied().max_by_key(|column| widths[*column]);
            match widest {
                Some(column) if widths[column] > MIN_WIDTH => widths[column] -= 1,
                _ => return,
            }
        }
    }
}

fn line(row: &[Cell], widths: &[usize], is_cut: bool) -> String {
    let last = row.iter().rposition(|cell| !cell.text.is_empty()).unwrap_or(0);
    let mut line = String::new();
    for (place, (Cell { text, style, .. }, width)) in
        row.iter().zip(widths).enumerate().take(last + 1)
    {
        let text = if is_cut { short(text, *width) } else { text.clone() };
        let _ = write!(line, "{style}{text}{style:#}");
        if place < last {
            line += &" ".repeat(width + GAP - text.chars().count().min(*width));
        }
    }
    line + "\n"
}

/// Returns the width of the output's terminal; `None` for a file or a pipe.
fn terminal_width() -> Option<usize> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&out).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width > 0)
}

/// Names and values, one pair per line. Names without a value are omitted.
#[derive(Default)]
pub struct Facts(Vec<(String, String)>);

impl Facts {
    pub fn add(&mut self, name: &'static str, value: impl AsRef<str>) -> &mut Self {
        if !value.as_ref().is_empty() {
            self.add_owned(name, value);
        }
        self
    }

    /// As [`Self::add`], with a name from outside.
    pub fn add_owned(&mut self, name: &str, value: impl AsRef<str>) {
        self.0.push((clean(name), clean(value.as_ref())));
    }

    pub fn print(&self) -> anyhow::Result<()> {
        print(&self.text())
    }

    pub fn text(&self) -> String {
        let width = self.0.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let line =
            |(name, value): &(String, String)| format!("  {DIM}{name:<width$}{DIM:#}  {value}\n");
        self.0.iter().map(line).collect()
    }
}

/// Writes to standard output, with colors on a terminal. A closed pipe is not an error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

pub fn say(sentence: &str) -> anyhow::Result<()> {
    print(&format!("{sentence}\n"))
}

/// Prints JSON: indented on a terminal, on one line otherwise.
pub fn json(value: &Value) -> anyhow::Result<()> {
    if std::io::stdout().is_terminal() {
        return say(&format!("{value:#}"));
    }
    say(&value.to_string())
}

/// Returns the text of a JSON value; empty for null.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub fn clean(text: &str) -> String {
    text.chars().map(|one| if one.is_control() { '·' } else { one }).collect()
}

/// Replaces control characters in text of several lines.
pub fn clean_lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}

/// Returns at most `max` characters; the last one shows that some are missing.
fn short(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_nothing_works_on_the_terminal() {
        let mut table = Table::new(&["name", "what"]);
        table.row([cell("ação"), cell("a\u{1b}[2Jb\nc")]);
        table.row([cell("b"), cell("")]);
        let plain = anstream::adapter::strip_str(&table.text(None)).to_string();
        assert_eq!(plain, "name  what\nação  a·[2Jb·c\nb\n");
        assert!(!table.text(None).contains("\u{1b}[2J"));
    }

    #[test]
    fn a_table_fits_the_terminal_and_ids_stay_whole() {
        let mut table = Table::new(&["id", "url"]);
        table.row([cell("evt_1234567890"), flexible("https://example.com/a/long/path")]);
        let narrow = anstream::adapter::strip_str(&table.text(Some(32))).to_string();
        assert_eq!(narrow, "id              url\nevt_1234567890  https://example…\n");
        let too_narrow = anstream::adapter::strip_str(&table.text(Some(10))).to_string();
        assert!(too_narrow.contains("evt_1234567890  https:/…"), "{too_narrow}");
        let long = "x".repeat(100);
        table.row([cell(&long), flexible("b")]);
        assert!(table.text(None).contains(&format!("{long}  b")), "a program reads all of it");
        assert!(!table.text(Some(200)).contains(&long));
    }
}

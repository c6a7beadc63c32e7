//! Output for people: aligned tables and lists of facts. Control characters are replaced, so that data
//! from outside cannot control the terminal.

use std::{
    fmt::Write as _,
    io::{ErrorKind, IsTerminal, Write},
};

use anstyle::Style;
use serde_json::Value;

use crate::paint::{DIM, GREEN, RED, YELLOW};

pub struct Cell {
    text: String,
    style: Style,
}

/// Longer cells are truncated.
const MAX_WIDTH: usize = 64;

pub fn cell(text: impl AsRef<str>) -> Cell {
    Cell { text: short(&clean(text.as_ref())), style: Style::new() }
}

pub fn painted(text: impl AsRef<str>, style: Style) -> Cell {
    Cell { style, ..cell(text) }
}

/// A state, in the color that it has everywhere.
pub fn state(word: &str) -> Cell {
    let style = match word.to_ascii_lowercase().as_str() {
        "active" | "valid" | "dispatched" | "sent" => GREEN,
        "paused" | "received" | "pending" | "retry_scheduled" | "retrying" | "not yet" => YELLOW,
        "failed" | "dlq" | "expired" => RED,
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
        print(&self.text())
    }

    fn text(&self) -> String {
        let mut widths: Vec<usize> = self.heads.iter().map(|head| head.len()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.chars().count());
            }
        }
        let heads: Vec<Cell> = self.heads.iter().map(|head| painted(head, DIM)).collect();
        let rows = std::iter::once(&heads).chain(&self.rows);
        rows.map(|row| line(row, &widths)).collect()
    }
}

fn line(row: &[Cell], widths: &[usize]) -> String {
    let last = row.iter().rposition(|cell| !cell.text.is_empty()).unwrap_or(0);
    let mut line = String::new();
    for (place, (Cell { text, style }, width)) in row.iter().zip(widths).enumerate().take(last + 1)
    {
        let _ = write!(line, "{style}{text}{style:#}");
        if place < last {
            line += &" ".repeat(width + 2 - text.chars().count().min(*width));
        }
    }
    line + "\n"
}

/// Names and values, one pair per line. Names without a value are omitted.
#[derive(Default)]
pub struct Facts(Vec<(&'static str, String)>);

impl Facts {
    pub fn add(&mut self, name: &'static str, value: impl AsRef<str>) -> &mut Self {
        if !value.as_ref().is_empty() {
            self.0.push((name, clean(value.as_ref())));
        }
        self
    }

    pub fn print(&self) -> anyhow::Result<()> {
        print(&self.text())
    }

    pub fn text(&self) -> String {
        let width = self.0.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let line =
            |(name, value): &(&str, String)| format!("  {DIM}{name:<width$}{DIM:#}  {value}\n");
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

/// The text of a JSON value; empty for null.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A time without fractions and zone: `2026-11-15 10:00:00`.
pub fn when(value: &Value) -> String {
    let text = text(value);
    match text.split_once('T') {
        Some((day, time)) if time.len() >= 8 && time.is_char_boundary(8) => {
            format!("{day} {}", &time[..8])
        }
        _ => text,
    }
}

pub fn clean(text: &str) -> String {
    text.chars().map(|one| if one.is_control() { '·' } else { one }).collect()
}

/// Formats a number with commas between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 key`, `2 keys`, `2 addresses`.
pub fn many(number: usize, noun: &str) -> String {
    let ending = match number {
        1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", count(number as u64))
}

fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_aligned_and_nothing_works_on_the_terminal() {
        let mut table = Table::new(&["name", "what"]);
        table.row([cell("ação"), cell("a\u{1b}[2Jb\nc")]);
        table.row([cell("b"), cell("")]);
        let plain = anstream::adapter::strip_str(&table.text()).to_string();
        assert_eq!(plain, "name  what\nação  a·[2Jb·c\nb\n");
        assert!(!table.text().contains("\u{1b}[2J"));
    }

    #[test]
    fn figures_and_times() {
        let figures = [0, 999, 1_000, 1_234_567].map(count);
        assert_eq!(figures, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(when(&json!("2026-11-15T10:00:00.123Z")), "2026-11-15 10:00:00");
        assert_eq!(when(&Value::Null), "");
        assert_eq!((many(1, "key"), many(2, "key")), ("1 key".into(), "2 keys".into()));
    }
}

//! A progress bar on a terminal for work that takes a while. There is none if standard error is a file or a
//! pipe.

use std::{
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

use super::table::count;
use crate::paint::{BLUE, DIM};

pub struct Progress {
    what: &'static str,
    total: u64,
    started: Instant,
    shown: Option<Instant>,
    is_seen: bool,
}

const WIDTH: u64 = 24;
/// Short enough to move visibly, and long enough to cost nothing.
const EVERY: Duration = Duration::from_millis(100);

impl Progress {
    pub fn new(what: &'static str, total: u64) -> Self {
        let is_seen = std::io::stderr().is_terminal();
        Self { what, total, started: Instant::now(), shown: None, is_seen }
    }

    /// Updates a bar whose total changes.
    pub fn of(&mut self, done: u64, total: u64) {
        self.total = total;
        self.at(done);
    }

    pub fn at(&mut self, done: u64) {
        if !self.is_due() {
            return;
        }
        let total = self.total.max(done).max(1);
        anstream::eprint!(
            "\r\u{1b}[2K{} {}  {} of {}  {DIM}{}/s{DIM:#}",
            self.what,
            bar(done, total),
            count(done),
            count(total),
            count(self.speed(done)),
        );
        let _ = std::io::stderr().flush();
    }
}

impl Progress {
    /// Starts a bar for work whose size is known in bytes, and counted in something else.
    pub fn of_bytes(what: &'static str, total: u64) -> Self {
        Self::new(what, total)
    }

    /// Updates the bar: the bytes are the position, the number is shown to the user.
    pub fn at_bytes(&mut self, number: u64, bytes: u64) {
        if !self.is_due() {
            return;
        }
        let speed = count(self.speed(number));
        if self.total == 0 {
            anstream::eprint!("\r\u{1b}[2K{} {}  {DIM}{speed}/s{DIM:#}", self.what, count(number));
        } else {
            let bar = bar(bytes, self.total.max(bytes));
            anstream::eprint!(
                "\r\u{1b}[2K{} {bar}  {}  {DIM}{speed}/s{DIM:#}",
                self.what,
                count(number)
            );
        }
        let _ = std::io::stderr().flush();
    }

    fn is_due(&mut self) -> bool {
        let is_soon = self.shown.is_some_and(|shown| shown.elapsed() < EVERY);
        if !self.is_seen || is_soon {
            return false;
        }
        self.shown = Some(Instant::now());
        true
    }

    fn speed(&self, number: u64) -> u64 {
        (number as f64 / self.started.elapsed().as_secs_f64().max(0.001)) as u64
    }
}

/// Returns a bar such as `━━━━──── 50 %`.
fn bar(done: u64, total: u64) -> String {
    let full = usize::try_from(done * WIDTH / total).unwrap_or(0);
    let (bar, rest) = ("━".repeat(full), "─".repeat(WIDTH as usize - full));
    format!("{BLUE}{bar}{BLUE:#}{DIM}{rest}{DIM:#} {:>3} %", done * 100 / total)
}

/// Removes a bar, so that a line can be printed. The bar is drawn again at its next change.
pub fn clear_line() {
    if std::io::stderr().is_terminal() {
        eprint!("\r\u{1b}[2K");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            clear_line();
        }
    }
}

//! A bar on a terminal for work that takes a while. Where standard error is a file or a pipe there is
//! none.

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
/// Often enough to move, seldom enough to cost nothing.
const EVERY: Duration = Duration::from_millis(100);

impl Progress {
    pub fn new(what: &'static str, total: u64) -> Self {
        let is_seen = std::io::stderr().is_terminal();
        Self { what, total, started: Instant::now(), shown: None, is_seen }
    }

    pub fn at(&mut self, done: u64) {
        let is_soon = self.shown.is_some_and(|shown| shown.elapsed() < EVERY);
        if !self.is_seen || is_soon {
            return;
        }
        self.shown = Some(Instant::now());
        let total = self.total.max(done).max(1);
        let full = usize::try_from(done * WIDTH / total).unwrap_or(0);
        let speed = done as f64 / self.started.elapsed().as_secs_f64().max(0.001);
        let (bar, rest) = ("━".repeat(full), "─".repeat(WIDTH as usize - full));
        anstream::eprint!(
            "\r\u{1b}[2K{} {BLUE}{bar}{BLUE:#}{DIM}{rest}{DIM:#} {:>3} %  {} of {}  {DIM}{}/s{DIM:#}",
            self.what,
            done * 100 / total,
            count(done),
            count(total),
            count(speed as u64),
        );
        let _ = std::io::stderr().flush();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            eprint!("\r\u{1b}[2K");
        }
    }
}

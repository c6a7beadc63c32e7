//! Keys that are in no order, and how they come into a tree in few pages.
//!
//! In a tree each such key falls on a page of its own, so that a commit would write a page for every key
//! in it: that was most of what it wrote. So keys are first written to a table in the order in which they
//! come, a line each, with a sorted list of them in memory. Once the list is long, a sweep brings them into
//! the tree in their own order, where many share a page: some for each key that comes. When the sweep is
//! over, its lines are cut off the front of the table.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ops::Bound::{Excluded, Unbounded},
};

use gancho_store::StoreError;
use rusqlite::{Connection, params};

use crate::fault::meaning;

/// A row of the table. None is used twice while the store is open.
pub(crate) type Line = i64;

/// What is in the table, and how far the sweep is. What a transaction changes is undone with it.
pub(crate) struct Lately<K, V>(RefCell<State<K, V>>);

struct State<K, V> {
    lines: BTreeMap<K, (Line, V)>,
    next: Line,
    sweep: Sweep<K>,
    /// Keys that came since the sweep last went on,
    came: usize,
    /// and lines that were written since one last began.
    written: usize,
    /// How many keys make a sweep begin.
    enough: usize,
    undo: Undo<K, V>,
}

/// What was before the transaction.
struct Undo<K, V> {
    lines: Vec<(K, Option<(Line, V)>)>,
    sweep: Sweep<K>,
}

#[derive(Debug, Clone)]
enum Sweep<K> {
    Rests,
    /// Brings what is on the lines up to `last` into the tree.
    Moves {
        last: Line,
        after: Option<K>,
    },
    /// All of it is there, and is cut off.
    Cuts {
        last: Line,
    },
}

/// What is to be done in the tables, now that a key came.
enum Due<K, V> {
    Nothing,
    /// Bring these into the tree, in this order.
    Move(Vec<(K, V)>),
    /// [`cut`] some of the lines up to this one, and say so when there are no more.
    Cut(Line),
}

/// As many as share the pages of a tree of some millions; some megabytes in memory.
pub(crate) const ENOUGH: usize = 65_536;
/// The sweep goes on after so many keys that came,
const STRIDE: usize = 32;
/// by so many. It passes every key once and cuts every line once, while others come: with twice as many as
/// come each would begin with more than the last; with three times it ends with what it began with.
pub(crate) const STRETCH: usize = 4 * STRIDE;

impl<K: Ord + Clone, V: Copy> Lately<K, V> {
    /// With what is in the table, in order of the lines. So many keys are enough for a sweep.
    pub fn new(table: Vec<(Line, K, V)>, enough: usize) -> Self {
        let next = table.last().map_or(1, |(line, ..)| line + 1);
        // Of two lines of a key the later one counts.
        let lines = table.into_iter().map(|(line, key, value)| (key, (line, value))).collect();
        let undo = Undo { lines: Vec::new(), sweep: Sweep::Rests };
        let (sweep, came, written) = (Sweep::Rests, 0, 0);
        Self(RefCell::new(State { lines, next, sweep, came, written, enough, undo }))
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.0.borrow().lines.is_empty()
    }

    /// The transaction is committed.
    pub fn keep(&self) {
        let state = &mut *self.0.borrow_mut();
        state.undo.lines.clear();
        state.undo.sweep = state.sweep.clone();
    }

    /// The transaction is rolled back.
    pub fn undo(&self) {
        let state = &mut *self.0.borrow_mut();
        for (key, line) in state.undo.lines.drain(..).rev() {
            match line {
                Some(line) => state.lines.insert(key, line),
                None => state.lines.remove(&key),
            };
        }
        state.sweep = state.undo.sweep.clone();
    }

    /// What came with the key, and on which line.
    pub fn find(&self, key: &K) -> Option<(Line, V)> {
        self.0.borrow().lines.get(key).copied()
    }

    /// A new line for the key.
    pub fn add(&self, key: K, value: V) -> Line {
        let state = &mut *self.0.borrow_mut();
        let line = state.next;
        state.next += 1;
        let before = state.lines.insert(key.clone(), (line, value));
        state.undo.lines.push((key, before));
        line
    }

    pub fn remove(&self, key: &K) {
        self.0.borrow_mut().remove(key);
    }

    /// To be called after each key that was written to the table. Says what is to be brought into the tree now,
    /// in this order.
    pub fn sweep(&self, db: &Connection, table: &str) -> rusqlite::Result<Option<Vec<(K, V)>>> {
        match self.due() {
            Due::Nothing => Ok(None),
            Due::Move(keys) => Ok(Some(keys)),
            Due::Cut(last) => {
                if cut(db, table, last, STRETCH)? < STRETCH {
                    self.all_cut();
                }
                Ok(None)
            }
        }
    }

    fn due(&self) -> Due<K, V> {
        let state = &mut *self.0.borrow_mut();
        state.came += 1;
        state.written += 1;
        if state.came < STRIDE {
            return Due::Nothing;
        }
        state.came = 0;
        match &state.sweep {
            Sweep::Rests => {
                // Keys that are used anew have several lines.
                if state.lines.len() >= state.enough || state.written >= 2 * state.enough {
                    state.written = 0;
                    state.sweep = Sweep::Moves { last: state.next - 1, after: None };
                }
                Due::Nothing
            }
            Sweep::Moves { last, after } => {
                let (last, after) = (*last, after.clone());
                Due::Move(state.pass(last, after.as_ref()))
            }
            Sweep::Cuts { last } => Due::Cut(*last),
        }
    }

    /// There are no more lines of the sweep.
    fn all_cut(&self) {
        self.0.borrow_mut().sweep = Sweep::Rests;
    }
}

impl<K: Ord + Clone, V: Copy> State<K, V> {
    fn remove(&mut self, key: &K) {
        let before = self.lines.remove(key);
        self.undo.lines.push((key.clone(), before));
    }

    /// What the sweep comes by next and is on its own lines: from now on it is the tree's.
    fn pass(&mut self, last: Line, after: Option<&K>) -> Vec<(K, V)> {
        let from = after.map_or(Unbounded, Excluded);
        let ahead = self.lines.range((from, Unbounded)).take(STRETCH);
        let passed: Vec<_> = ahead.map(|(key, line)| (key.clone(), *line)).collect();
        self.sweep = match passed.last() {
            Some((end, _)) if passed.len() == STRETCH => {
                Sweep::Moves { last, after: Some(end.clone()) }
            }
            _ => Sweep::Cuts { last },
        };
        let own = passed.into_iter().filter(|(_, (line, _))| *line <= last);
        own.map(|(key, (_, value))| {
            self.remove(&key);
            (key, value)
        })
        .collect()
    }
}

/// For a table that was left with more than enough: a sweep that was cut short is not gone on with, as
/// whoever is restarted often would never come to its end. `all` brings everything into the tree.
pub(crate) fn sweep_at_once(
    db: &Connection,
    table: &str,
    enough: usize,
    all: &str,
) -> rusqlite::Result<()> {
    let count = format!("SELECT count(*) FROM {table}");
    let count: i64 = db.query_row(&count, [], |row| row.get(0))?;
    if (count as usize) < enough {
        return Ok(());
    }
    let sweep = format!("BEGIN IMMEDIATE; {all}; DELETE FROM {table}; COMMIT");
    let Err(error) = db.execute_batch(&sweep) else { return Ok(()) };
    if !db.is_autocommit() {
        db.execute_batch("ROLLBACK")?;
    }
    match meaning(&error) {
        // It can wait.
        StoreError::Full(_) | StoreError::Unavailable(_) => {
            tracing::warn!(%error, table, "what came lately could not be brought into its tree");
            Ok(())
        }
        _ => Err(error),
    }
}

/// Removes so many lines from the front of a table, none behind `last`. Says how many there were.
pub(crate) fn cut(
    db: &Connection,
    table: &str,
    last: Line,
    most: usize,
) -> rusqlite::Result<usize> {
    db.prepare_cached(&format!(
        "DELETE FROM {table} WHERE line <= (SELECT max(line) FROM
           (SELECT line FROM {table} WHERE line <= ?1 ORDER BY line LIMIT ?2))"
    ))?
    .execute(params![last, most as i64])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::collections::VecDeque;

    use gancho_domain::{Random, SeededRandom};

    use super::*;

    const FEW: usize = 2_000;

    /// The most that was in the list and in the table, and how many sweeps there were.
    fn run(mut key: impl FnMut(u64) -> u64) -> (usize, usize, usize) {
        let (lately, mut table) = (Lately::new(Vec::new(), FEW), VecDeque::new());
        let (mut longest, mut most, mut sweeps) = (0, 0, 0);
        for number in 0..100_000 {
            table.push_back(lately.add(key(number), ()));
            match lately.due() {
                Due::Nothing | Due::Move(_) => {}
                Due::Cut(last) => {
                    let own = table.iter().take(STRETCH).take_while(|line| **line <= last).count();
                    table.drain(..own);
                    if own < STRETCH {
                        lately.all_cut();
                        sweeps += 1;
                    }
                }
            }
            lately.keep();
            longest = longest.max(lately.0.borrow().lines.len());
            most = most.max(table.len());
        }
        (longest, most, sweeps)
    }

    #[test]
    fn a_sweep_keeps_up_with_what_comes() {
        let dice = SeededRandom::new(1);
        for (order, key) in [
            ("none", Box::new(|_| dice.next()) as Box<dyn FnMut(u64) -> u64>),
            ("up", Box::new(|number| number)),
            ("down", Box::new(|number| u64::MAX - number)),
            ("a few again and again", Box::new(|number| number % 100)),
        ] {
            let (longest, most, sweeps) = run(key);
            let told =
                format!("{order}: {longest} in the list, {most} in the table, {sweeps} sweeps");
            assert!(longest < 2 * FEW && most < 3 * FEW && sweeps > 10, "{told}");
        }
    }
}

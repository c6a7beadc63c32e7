//! A buffer for keys that arrive in random order.
//!
//! In a B-tree each such key is on another page, so a commit would write one page per key, which was most of
//! what a commit wrote. So keys are first appended to a table, one line each, and stored in a sorted map in
//! memory. When the map is large enough, a flush moves its keys into the tree in key order, where many share
//! a page: a few for each key that is added. When the flush has moved them all, it trims their lines off the
//! front of the table. This is the memtable and merge of an LSM tree.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ops::Bound::{Excluded, Unbounded},
};

use gancho_store::StoreError;
use rusqlite::{Connection, params};

use crate::tx_error::store_error;

/// A row of the buffer's table. No number is used twice while the store is open.
pub(crate) type BufferRow = i64;

/// The keys in the table, and the progress of the flush. Rolls back with its transaction.
pub(crate) struct KeyBuffer<K, V>(RefCell<State<K, V>>);

struct State<K, V> {
    keys: BTreeMap<K, (BufferRow, V)>,
    next_line: BufferRow,
    flush: Flush<K>,
    /// Keys added since the last step of the flush.
    added: usize,
    /// Lines written since the start of the last flush.
    written: usize,
    /// How many keys start a flush.
    flush_at: usize,
    undo: Undo<K, V>,
}

/// The state before the transaction.
struct Undo<K, V> {
    keys: Vec<(K, Option<(BufferRow, V)>)>,
    flush: Flush<K>,
}

#[derive(Debug, Clone)]
enum Flush<K> {
    Idle,
    /// Moves the keys of the lines up to `last` into the tree.
    Moving {
        last: BufferRow,
        after: Option<K>,
    },
    /// All keys are in the tree; their lines are being trimmed.
    Trimming {
        last: BufferRow,
    },
}

/// What to do in the tables after a key was added.
enum FlushStep<K, V> {
    Nothing,
    /// Insert these keys into the tree, in this order.
    Move(Vec<(K, V)>),
    /// [`trim`] some of the lines up to this one, and call `trimmed` when none is left.
    Trim(BufferRow),
}

/// How many keys start a flush. Enough to share the pages of a tree of some millions; some megabytes in
/// memory.
pub(crate) const FLUSH_AT: usize = 65_536;
/// The flush continues after this many added keys.
const FLUSH_EVERY: usize = 32;
/// How many keys one step moves, or lines it trims. A flush moves every key once and trims every line once
/// while others are added. With two for each added key, each flush would start with more keys than the last;
/// with three it ends with as many as it started with.
pub(crate) const FLUSH_BATCH: usize = 4 * FLUSH_EVERY;

impl<K: Ord + Clone, V: Copy> KeyBuffer<K, V> {
    /// Creates a buffer with the content of the table, in order of the lines. `flush_at` keys start a flush.
    pub fn new(table: Vec<(BufferRow, K, V)>, flush_at: usize) -> Self {
        let next_line = table.last().map_or(1, |(line, ..)| line + 1);
        // Of two lines of a key the later one counts.
        let keys = table.into_iter().map(|(line, key, value)| (key, (line, value))).collect();
        let undo = Undo { keys: Vec::new(), flush: Flush::Idle };
        let (flush, added, written) = (Flush::Idle, 0, 0);
        Self(RefCell::new(State { keys, next_line, flush, added, written, flush_at, undo }))
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.0.borrow().keys.is_empty()
    }

    /// Notes that the transaction was committed.
    pub fn commit(&self) {
        let state = &mut *self.0.borrow_mut();
        state.undo.keys.clear();
        state.undo.flush = state.flush.clone();
    }

    /// Notes that the transaction was rolled back.
    pub fn roll_back(&self) {
        let state = &mut *self.0.borrow_mut();
        for (key, line) in state.undo.keys.drain(..).rev() {
            match line {
                Some(line) => state.keys.insert(key, line),
                None => state.keys.remove(&key),
            };
        }
        state.flush = state.undo.flush.clone();
    }

    /// Returns the line and the value of the key.
    pub fn find(&self, key: &K) -> Option<(BufferRow, V)> {
        self.0.borrow().keys.get(key).copied()
    }

    /// Adds a key. Returns its new line, which the caller writes to the table.
    pub fn add(&self, key: K, value: V) -> BufferRow {
        let state = &mut *self.0.borrow_mut();
        let line = state.next_line;
        state.next_line += 1;
        let before = state.keys.insert(key.clone(), (line, value));
        state.undo.keys.push((key, before));
        line
    }

    pub fn remove(&self, key: &K) {
        self.0.borrow_mut().remove(key);
    }

    /// Continues the flush. Called after each key that was written to the table. Returns the keys to insert
    /// into the tree now, in this order.
    pub fn flush(&self, db: &Connection, table: &str) -> rusqlite::Result<Option<Vec<(K, V)>>> {
        match self.next_step() {
            FlushStep::Nothing => Ok(None),
            FlushStep::Move(keys) => Ok(Some(keys)),
            FlushStep::Trim(last) => {
                if trim(db, table, last, FLUSH_BATCH)? < FLUSH_BATCH {
                    self.trimmed();
                }
                Ok(None)
            }
        }
    }

    fn next_step(&self) -> FlushStep<K, V> {
        let state = &mut *self.0.borrow_mut();
        state.added += 1;
        state.written += 1;
        if state.added < FLUSH_EVERY {
            return FlushStep::Nothing;
        }
        state.added = 0;
        match &state.flush {
            Flush::Idle => {
                // Keys that are used again have several lines.
                if state.keys.len() >= state.flush_at || state.written >= 2 * state.flush_at {
                    state.written = 0;
                    state.flush = Flush::Moving { last: state.next_line - 1, after: None };
                }
                FlushStep::Nothing
            }
            Flush::Moving { last, after } => {
                let (last, after) = (*last, after.clone());
                FlushStep::Move(state.take_batch(last, after.as_ref()))
            }
            Flush::Trimming { last } => FlushStep::Trim(*last),
        }
    }

    /// Notes that no line of the flush is left.
    fn trimmed(&self) {
        self.0.borrow_mut().flush = Flush::Idle;
    }
}

impl<K: Ord + Clone, V: Copy> State<K, V> {
    fn remove(&mut self, key: &K) {
        let before = self.keys.remove(key);
        self.undo.keys.push((key.clone(), before));
    }

    /// Takes the next keys on the flush's own lines. From now on they are in the tree.
    fn take_batch(&mut self, last: BufferRow, after: Option<&K>) -> Vec<(K, V)> {
        let from = after.map_or(Unbounded, Excluded);
        let ahead = self.keys.range((from, Unbounded)).take(FLUSH_BATCH);
        let passed: Vec<_> = ahead.map(|(key, line)| (key.clone(), *line)).collect();
        self.flush = match passed.last() {
            Some((end, _)) if passed.len() == FLUSH_BATCH => {
                Flush::Moving { last, after: Some(end.clone()) }
            }
            _ => Flush::Trimming { last },
        };
        let own = passed.into_iter().filter(|(_, (line, _))| *line <= last);
        own.map(|(key, (_, value))| {
            self.remove(&key);
            (key, value)
        })
        .collect()
    }
}

/// Flushes a table that has `flush_at` lines or more when the store is opened. An interrupted flush is not
/// resumed otherwise, and a gateway that restarts often would never finish one. `all` moves every key into
/// the tree.
pub(crate) fn flush_at_open(
    db: &Connection,
    table: &str,
    flush_at: usize,
    all: &str,
) -> rusqlite::Result<()> {
    let count = format!("SELECT count(*) FROM {table}");
    let count: i64 = db.query_row(&count, [], |row| row.get(0))?;
    if (count as usize) < flush_at {
        return Ok(());
    }
    let flush = format!("BEGIN IMMEDIATE; {all}; DELETE FROM {table}; COMMIT");
    let Err(error) = db.execute_batch(&flush) else { return Ok(()) };
    if !db.is_autocommit() {
        db.execute_batch("ROLLBACK")?;
    }
    match store_error(&error) {
        // The flush can wait.
        StoreError::Full(_) | StoreError::Unavailable(_) => {
            tracing::warn!(%error, table, "could not flush the key buffer");
            Ok(())
        }
        _ => Err(error),
    }
}

/// Removes at most `max` lines from the front of a table, none after `last`, and returns their number.
pub(crate) fn trim(
    db: &Connection,
    table: &str,
    last: BufferRow,
    max: usize,
) -> rusqlite::Result<usize> {
    db.prepare_cached(&format!(
        "DELETE FROM {table} WHERE line <= (SELECT max(line) FROM
           (SELECT line FROM {table} WHERE line <= ?1 ORDER BY line LIMIT ?2))"
    ))?
    .execute(params![last, max as i64])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::collections::VecDeque;

    use gancho_domain::{Random, SeededRandom};

    use super::*;

    const FEW: usize = 2_000;

    /// Returns the maximum size of the map and of the table, and the number of flushes.
    fn run(mut key: impl FnMut(u64) -> u64) -> (usize, usize, usize) {
        let (buffer, mut table) = (KeyBuffer::new(Vec::new(), FEW), VecDeque::new());
        let (mut max_keys, mut max_lines, mut flushes) = (0, 0, 0);
        for number in 0..100_000 {
            table.push_back(buffer.add(key(number), ()));
            match buffer.next_step() {
                FlushStep::Nothing | FlushStep::Move(_) => {}
                FlushStep::Trim(last) => {
                    let own =
                        table.iter().take(FLUSH_BATCH).take_while(|line| **line <= last).count();
                    table.drain(..own);
                    if own < FLUSH_BATCH {
                        buffer.trimmed();
                        flushes += 1;
                    }
                }
            }
            buffer.commit();
            max_keys = max_keys.max(buffer.0.borrow().keys.len());
            max_lines = max_lines.max(table.len());
        }
        (max_keys, max_lines, flushes)
    }

    #[test]
    fn a_flush_keeps_up_with_what_is_added() {
        let dice = SeededRandom::new(1);
        for (order, key) in [
            ("none", Box::new(|_| dice.next()) as Box<dyn FnMut(u64) -> u64>),
            ("up", Box::new(|number| number)),
            ("down", Box::new(|number| u64::MAX - number)),
            ("a few again and again", Box::new(|number| number % 100)),
        ] {
            let (max_keys, max_lines, flushes) = run(key);
            let told = format!(
                "{order}: {max_keys} in the map, {max_lines} in the table, {flushes} flushes"
            );
            assert!(max_keys < 2 * FEW && max_lines < 3 * FEW && flushes > 10, "{told}");
        }
    }
}

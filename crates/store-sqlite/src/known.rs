//! What the writer knows of the tables without a look at them.

use std::cell::Cell;

use gancho_ledger::Head;
use rusqlite::Connection;

use crate::{
    external_ids::{self, Name},
    fault::Fault,
    lately::Lately,
    once::Keys,
    spans::Spans,
};

pub(crate) struct Known {
    pub spans: Spans,
    pub keys: Keys,
    pub names: Lately<Name, ()>,
    /// The end of the ledger.
    pub head: Cell<Option<Head>>,
}

impl Known {
    /// `enough` keys of a kind that came lately make them be swept.
    pub fn of(db: &Connection, enough: usize) -> Result<Self, Fault> {
        Ok(Self {
            spans: Spans::default(),
            keys: Keys::load(db, enough)?,
            names: external_ids::load(db, enough)?,
            head: Cell::default(),
        })
    }

    /// The transaction is committed.
    pub fn keep(&self) {
        self.keys.lately.keep();
        self.names.keep();
    }

    /// The transaction is rolled back: what it wrote is gone.
    pub fn undo(&self) {
        self.spans.forget();
        self.keys.lately.undo();
        self.names.undo();
        self.head.set(None);
    }
}

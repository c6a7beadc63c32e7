//! What belongs to the gateway as a whole: the audit log, and the ledger of what was received. Both are in the home
//! cell; so are the sources of received webhooks, so that a receipt and its line stay in one transaction.

use std::time::Duration;

use async_trait::async_trait;
use gancho_domain::ParcelId;
use gancho_ledger::Line;
use gancho_store::{AuditEntry, AuditFilter, AuditLog, Ledger, Page, PageRequest, Result};

use crate::{CellStore, at_home, long_at_home};

#[async_trait]
impl AuditLog for CellStore {
    async fn append_audit(&self, entries: Vec<AuditEntry>, retention: Duration) -> Result<()> {
        at_home!(self, |store| store.append_audit(entries, retention))
    }

    async fn audit(&self, filter: AuditFilter, page: PageRequest) -> Result<Page<AuditEntry>> {
        long_at_home!(self, |store| store.audit(filter, page))
    }
}

#[async_trait]
impl Ledger for CellStore {
    async fn ledger_lines(&self, after: u64, max: usize) -> Result<Vec<Line>> {
        long_at_home!(self, |store| store.ledger_lines(after, max))
    }

    async fn ledger_line_of(&self, parcel: ParcelId) -> Result<Option<Line>> {
        at_home!(self, |store| store.ledger_line_of(parcel))
    }

    async fn ledger_size(&self) -> Result<u64> {
        at_home!(self, |store| store.ledger_size())
    }
}

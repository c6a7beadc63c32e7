//! The ledger of received webhooks. A line is written with its parcel, in the same transaction. No method
//! changes or removes one, and the databases refuse to.

use async_trait::async_trait;
use gancho_domain::ParcelId;
use gancho_ledger::Line;

use crate::Result;

#[async_trait]
pub trait Ledger: Send + Sync + 'static {
    /// Returns at most `max` lines after `after`.
    async fn ledger_lines(&self, after: u64, max: usize) -> Result<Vec<Line>>;

    async fn ledger_line_of(&self, parcel: ParcelId) -> Result<Option<Line>>;

    /// Returns the number of lines.
    async fn ledger_size(&self) -> Result<u64>;
}

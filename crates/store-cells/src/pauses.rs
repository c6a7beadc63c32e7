//! Pauses: of a lane in the home cell, of a tenant and its endpoints in its cell.

use async_trait::async_trait;
use gancho_domain::Time;
use gancho_store::{Pause, Pauses, Result};

use crate::{CellStore, at_home, in_cell};

#[async_trait]
impl Pauses for CellStore {
    async fn pause(&self, what: Pause, now: Time) -> Result<()> {
        match what {
            Pause::Lane(_) => at_home!(self, |store| store.pause(what, now)),
            Pause::Tenant(tenant) | Pause::Endpoint(tenant, _) => {
                in_cell!(self, tenant, |store| store.pause(what, now))
            }
        }
    }

    async fn resume(&self, what: Pause) -> Result<()> {
        match what {
            Pause::Lane(_) => at_home!(self, |store| store.resume(what)),
            Pause::Tenant(tenant) | Pause::Endpoint(tenant, _) => {
                in_cell!(self, tenant, |store| store.resume(what))
            }
        }
    }

    /// Of a cell that does not answer, those that it had when it last did.
    async fn pauses(&self) -> Result<Vec<Pause>> {
        if self.is_alone() {
            return at_home!(self, |store| store.pauses());
        }
        let answers = self.each_in_time(|store, _| async move { store.pauses().await }).await?;
        let cells = self.cells();
        let mut known = self.pauses.lock();
        known.retain(|number, _| cells.iter().any(|cell| cell.number == *number));
        known.extend(answers.into_iter().map(|(cell, pauses)| (cell.number, pauses)));
        let mut all: Vec<Pause> = known.values().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }
}

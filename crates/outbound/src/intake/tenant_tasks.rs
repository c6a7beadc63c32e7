//! The tenants whose events are being accepted, each in its own task.

use std::collections::HashMap;

use gancho_domain::TenantId;
use tokio::task::{Id, JoinError, JoinSet};

#[derive(Default)]
pub(super) struct TenantTasks {
    tasks: JoinSet<()>,
    tenants: HashMap<Id, TenantId>,
}

impl TenantTasks {
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Starts the work of a tenant. Does nothing if earlier events of the tenant are still being accepted,
    /// although their lease has ended: the new ones are taken again when their own lease has ended.
    pub fn start(&mut self, tenant: TenantId, work: impl Future<Output = ()> + Send + 'static) {
        if self.tenants.values().all(|one| *one != tenant) {
            self.tenants.insert(self.tasks.spawn(work).id(), tenant);
        }
    }

    /// Waits until the events of a tenant are accepted; forever, if there is none.
    pub async fn next_end(&mut self) {
        match self.tasks.join_next_with_id().await {
            Some(ended) => self.forget(ended),
            None => std::future::pending().await,
        }
    }

    /// Removes tenants whose work has ended, to make room for others.
    pub fn forget_ended(&mut self) {
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            self.forget(ended);
        }
    }

    fn forget(&mut self, ended: Result<(Id, ()), JoinError>) {
        // The panic has been logged. The events are taken again when their lease has ended.
        let task = ended.map_or_else(|error| error.id(), |(task, ())| task);
        self.tenants.remove(&task);
    }

    pub async fn end_all(&mut self) {
        while !self.tasks.is_empty() {
            self.next_end().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn a_tenant_that_takes_long_holds_back_no_other() {
        let tenant = TenantId::from_bits;
        let mut accepting = TenantTasks::default();
        accepting.start(tenant(1), pending());
        for number in 2..100 {
            accepting.start(tenant(number), ready(()));
            accepting.next_end().await;
            assert_eq!(accepting.len(), 1);
        }
        accepting.start(tenant(1), ready(()));
        assert_eq!(accepting.len(), 1, "its own wait for it");
    }

    #[tokio::test]
    async fn a_tenant_whose_events_panic_is_forgotten() {
        let mut accepting = TenantTasks::default();
        accepting.start(TenantId::from_bits(1), async { panic!("on purpose") });
        accepting.end_all().await;
        assert!(accepting.tenants.is_empty());
    }
}

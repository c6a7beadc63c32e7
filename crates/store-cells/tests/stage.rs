//! Cells for tests: schemas of one database, or databases of two servers.

use std::{sync::Arc, time::Duration};

use gancho_domain::{Clock, Id, IdMaker, SystemClock, SystemRandom, Tenant, TenantId, Time};
use gancho_store::{Claim, Claiming, Job, NewParcel, NodeId, Settlement, StoreError, Tenants};
use gancho_store_cells::{CellSecrets, CellSetup, CellStore};
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::parcels;

/// Hides nothing, and reads what the same key has written under the same name only.
pub struct PlainSecrets(pub &'static str);

impl CellSecrets for PlainSecrets {
    fn seal(&self, of: &str, text: &str) -> Result<Vec<u8>, String> {
        Ok(format!("{}\n{of}\n{text}", self.0).into_bytes())
    }

    fn open(&self, of: &str, sealed: &[u8]) -> Result<String, String> {
        let text = String::from_utf8_lossy(sealed).into_owned();
        let text = text.strip_prefix(&format!("{}\n{of}\n", self.0));
        text.map(str::to_owned).ok_or_else(|| "another key".to_owned())
    }

    fn is_current(&self, sealed: &[u8]) -> bool {
        sealed.starts_with(self.0.as_bytes())
    }
}

/// One claim waits for all cells, however slow the machine is.
pub fn setup(options: Options) -> CellSetup {
    let setup = CellSetup::new(options, Arc::new(PlainSecrets("key")));
    CellSetup { claim_wait: Duration::from_secs(30), ..setup }
}

pub async fn open(home: &str, options: Options) -> Result<Arc<CellStore>, StoreError> {
    let store = PostgresStore::connect(home, options.clone()).await?;
    CellStore::open(store, setup(options)).await
}

/// The URL of a schema in the database.
pub fn in_schema(url: &str, schema: &str) -> String {
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}schema={schema}")
}

/// Makes tenants, and events with one delivery that is due.
pub struct ParcelGenerator(IdMaker);

impl ParcelGenerator {
    pub fn new() -> Self {
        Self(IdMaker::new(Arc::new(SystemClock), Arc::new(SystemRandom)))
    }

    pub fn id<K>(&self) -> Id<K> {
        self.0.make()
    }

    pub async fn tenant(&self, store: &CellStore) -> Result<TenantId, StoreError> {
        let id: TenantId = self.id();
        let tenant = Tenant::new(id, id.to_string().to_lowercase(), now());
        store.create_tenant(tenant).await.map(|()| id)
    }

    pub fn event(&self, tenant: TenantId) -> NewParcel {
        parcels::event(&self.0, tenant, self.id(), now())
    }
}

pub fn now() -> Time {
    SystemClock.now()
}

pub fn claim(node: NodeId) -> Claim {
    Claim { per_target: 10, per_proven: 10, ..parcels::claim(node, 100, now()) }
}

/// Claims until nothing more is due.
pub async fn take_all(store: &CellStore, node: NodeId) -> Vec<Job> {
    let (mut claim, mut jobs) = (claim(node), Vec::new());
    for _ in 0..100 {
        let mut claimed = store.claim(claim.clone()).await.unwrap();
        jobs.append(&mut claimed.jobs);
        if !claimed.more {
            return jobs;
        }
        claim.cursor = claimed.cursor;
    }
    panic!("more is said to be due for ever");
}

pub fn delivered(job: &Job) -> Settlement {
    parcels::delivered(job, now())
}

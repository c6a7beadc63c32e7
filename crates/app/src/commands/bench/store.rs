//! Accepts and settles through the store alone.

use std::{sync::Arc, time::Duration};

use anyhow::ensure;
use bytes::Bytes;
use clap::Args;
use gancho_domain::{
    Attempt, EndpointId, IdMaker, Lane, NextStep, Parcel, ParcelKind, SystemClock, SystemRandom,
    TenantId, Time,
};
use gancho_store::{
    AcceptOutcome, NewDelivery, NewParcel, NodeId, SettleOutcome, Settlement, Store,
};

use super::{place, report::Stopwatch};
use crate::database;

/// Accept and settle deliveries: one event, one delivery and one attempt each, fsynced.
#[derive(Debug, Args)]
pub struct StoreBench {
    /// Database: sqlite:PATH or postgres://… Default: a new SQLite file in a temporary directory.
    #[arg(long, env = "GANCHO_DATABASE_URL")]
    pub database_url: Option<String>,
    /// Number of deliveries.
    #[arg(long, default_value_t = 400_000)]
    pub deliveries: u64,
    /// Deliveries per call.
    #[arg(long, default_value_t = 256)]
    pub batch: usize,
    /// Number of concurrent calls.
    #[arg(long, default_value_t = 4)]
    pub callers: usize,
    /// Number of tenants.
    #[arg(long, default_value_t = 50)]
    pub tenants: usize,
    /// Size of a body in bytes.
    #[arg(long, default_value_t = 1_024)]
    pub body: usize,
    #[arg(long)]
    pub json: bool,
}

impl StoreBench {
    pub async fn run(self) -> anyhow::Result<()> {
        let (url, _folder) = place::database(self.database_url.as_deref())?;
        let maker = ParcelGenerator::open(&url, self.tenants, self.body).await?;
        let watch = Stopwatch::start();
        let each = self.deliveries / self.callers as u64;
        let mut callers = tokio::task::JoinSet::new();
        for caller in 0..self.callers {
            callers.spawn(accept_and_settle(maker.clone(), each, self.batch, caller));
        }
        while let Some(done) = callers.join_next().await {
            done??;
        }
        let what = format!("{}: accept + settle", maker.store.name());
        watch.report(&what, each * self.callers as u64, self.json);
        Ok(())
    }
}

async fn accept_and_settle(
    maker: ParcelGenerator,
    count: u64,
    batch: usize,
    salt: usize,
) -> anyhow::Result<()> {
    let mut left = count as usize;
    let mut turn = salt;
    while left > 0 {
        let size = left.min(batch);
        let parcels: Vec<NewParcel> = (0..size)
            .map(|_| {
                turn += 1;
                maker.parcel(turn, true)
            })
            .collect();
        let settlements: Vec<Settlement> = parcels.iter().map(ParcelGenerator::delivered).collect();
        let accepted = maker.store.accept(parcels, maker.node).await?;
        ensure!(
            accepted.iter().all(|one| matches!(one, AcceptOutcome::New { .. })),
            "not accepted"
        );
        let settled = maker.store.settle(maker.node, settlements).await?;
        ensure!(settled.iter().all(|one| matches!(one, SettleOutcome::Done { .. })), "not settled");
        left -= size;
    }
    Ok(())
}

/// Makes parcels for a store.
#[derive(Clone)]
pub struct ParcelGenerator {
    pub store: Arc<dyn Store>,
    pub node: NodeId,
    ids: Arc<IdMaker>,
    targets: Arc<Vec<(TenantId, EndpointId)>>,
    body: Bytes,
}

impl ParcelGenerator {
    pub async fn open(url: &str, tenants: usize, body: usize) -> anyhow::Result<Self> {
        let store = database::open(url, database::Options::default()).await?;
        let ids = Arc::new(IdMaker::new(Arc::new(SystemClock), Arc::new(SystemRandom)));
        ids.rise_above(store.highest_lead().await?);
        let node = store.join("bench", now()).await?;
        let targets = (0..tenants.max(1)).map(|_| (ids.make(), ids.make())).collect();
        let text = format!("{{\"text\":\"{}\"}}", "x".repeat(body.saturating_sub(11)));
        Ok(Self { store, node, ids, targets: Arc::new(targets), body: text.into() })
    }

    /// Returns a maker for the same store with one new tenant.
    pub fn newcomer(&self) -> Self {
        Self { targets: Arc::new(vec![(self.ids.make(), self.ids.make())]), ..self.clone() }
    }

    pub fn parcel(&self, turn: usize, hold: bool) -> NewParcel {
        let (tenant, target) = self.targets[turn % self.targets.len()];
        let created_at = now();
        let parcel = Parcel {
            id: self.ids.make(),
            tenant,
            kind: ParcelKind::Event,
            event_type: "bench.event".into(),
            subject: None,
            external_id: None,
            is_test: false,
            body: self.body.clone(),
            created_at,
            trace: None,
            erased_at: None,
        };
        let delivery = NewDelivery {
            id: self.ids.make(),
            lane: Lane::Webhook,
            target,
            due_at: created_at,
            in_order: false,
            hold,
        };
        NewParcel { parcel: Arc::new(parcel), once: None, ledger: None, deliveries: vec![delivery] }
    }

    pub fn delivered(new: &NewParcel) -> Settlement {
        let attempt = Attempt {
            number: 1,
            started_at: now(),
            latency: Duration::from_millis(3),
            request_headers: Bytes::from_static(REQUEST_HEADERS),
            response_status: Some(200),
            response_headers: Bytes::from_static(
                b"content-length: 2\ndate: Sun, 15 Nov 2026 10:00:00 GMT\n",
            ),
            response_body: Bytes::from_static(b"ok"),
            failure: None,
            next_at: None,
        };
        Settlement {
            tenant: new.parcel.tenant,
            delivery: new.deliveries[0].id,
            leased_at: None,
            at: now(),
            attempt: Some(attempt),
            next: NextStep::Delivered,
            is_replay: false,
            in_order: false,
            follow: Vec::new(),
        }
    }
}

/// About as long as real headers.
const REQUEST_HEADERS: &[u8] = b"content-type: application/json\nuser-agent: Gancho/0.1.0\n\
    webhook-id: evt_01HQXYZ123ABCDEFGH00000000\nwebhook-timestamp: 1706012345\n\
    webhook-signature: v1,EtLk+o8XsMhd++06C0AMN5V7oDX6OAQdxmKfXgSS9sI=\n";

pub fn now() -> Time {
    use gancho_domain::Clock;
    SystemClock.now()
}

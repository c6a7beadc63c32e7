//! Fills a store directly: events of all tenants with their deliveries, most of them delivered, some given
//! up, a few waiting for a retry, and statistics of thirty days.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use bytes::Bytes;
use gancho_domain::{
    Attempt, Code, Endpoint, Failure, Figures, IdMaker, Lane, NextStep, Parcel, ParcelKind,
    SystemClock, SystemRandom, Time,
};
use gancho_store::{
    AcceptOutcome, MinuteFigures, NewDelivery, NewParcel, NodeId, Series, Settlement,
    StatisticsBatch, Store,
};

use crate::{
    commands::bench::store::now,
    database::{self, Options},
};

/// What a page about one thing shows.
pub struct Seed {
    pub tenant: String,
    pub endpoint: String,
    pub delivery: String,
    pub event: String,
}

const BATCH: usize = 500;
const DAYS: u64 = 30;

impl Seed {
    pub async fn fill(url: &str, deliveries: usize) -> anyhow::Result<Self> {
        let store = database::open(url, Options::default()).await?;
        let ids = IdMaker::new(Arc::new(SystemClock), Arc::new(SystemRandom));
        ids.rise_above(store.highest_lead().await?);
        let node = store.join("bench", now()).await?;
        let endpoints = endpoints(&*store).await?;
        let filler = Filler { store: store.clone(), node, ids, endpoints };
        let last = filler.deliveries(deliveries).await?;
        filler.statistics().await?;
        let owner = store.tenant(last.parcel.tenant).await?.context("no tenant")?;
        store.leave(node, now()).await?;
        Ok(Self {
            tenant: owner.slug,
            endpoint: last.deliveries[0].target.to_string(),
            delivery: last.deliveries[0].id.to_string(),
            event: last.parcel.id.to_string(),
        })
    }
}

async fn endpoints(store: &dyn Store) -> anyhow::Result<Vec<Endpoint>> {
    let mut all: Vec<Endpoint> = Vec::new();
    loop {
        let page = store.all_endpoints(all.last().map(|last| last.id), 500).await?;
        if page.is_empty() {
            all.retain(|endpoint| {
                endpoint.events.iter().any(|event| event.to_string() == "seed.event")
            });
            ensure!(!all.is_empty(), "no endpoints");
            return Ok(all);
        }
        all.extend(page);
    }
}

struct Filler {
    store: Arc<dyn Store>,
    node: NodeId,
    ids: IdMaker,
    endpoints: Vec<Endpoint>,
}

impl Filler {
    /// Creates deliveries. Returns the last parcel.
    async fn deliveries(&self, count: usize) -> anyhow::Result<NewParcel> {
        let mut last = None;
        for begin in (0..count.max(1)).step_by(BATCH) {
            let end = (begin + BATCH).min(count.max(1));
            let parcels: Vec<NewParcel> = (begin..end).map(|number| self.parcel(number)).collect();
            let settlements =
                (begin..end).zip(&parcels).map(|(number, new)| settlement(number, new)).collect();
            last = parcels.last().cloned();
            let accepted = self.store.accept(parcels, self.node).await?;
            let is_new = |one: &AcceptOutcome| matches!(one, AcceptOutcome::New { .. });
            ensure!(accepted.iter().all(is_new), "not accepted");
            self.store.settle(self.node, settlements).await?;
        }
        last.context("nothing was made")
    }

    fn parcel(&self, number: usize) -> NewParcel {
        let endpoint = &self.endpoints[number % self.endpoints.len()];
        let created_at = now();
        let body =
            format!(r#"{{"id":"inv_{number}","total":"9.90","text":"{}"}}"#, "x".repeat(300));
        let parcel = Parcel {
            id: self.ids.make(),
            tenant: endpoint.tenant,
            kind: ParcelKind::Event,
            event_type: "seed.event".into(),
            subject: None,
            external_id: number.is_multiple_of(10).then(|| format!("inv_{number}").into()),
            is_test: false,
            body: Bytes::from(body),
            created_at,
            trace: None,
            erased_at: None,
        };
        let delivery = NewDelivery {
            id: self.ids.make(),
            lane: Lane::Webhook,
            target: endpoint.id,
            due_at: created_at,
            in_order: false,
            hold: true,
        };
        NewParcel { parcel: Arc::new(parcel), once: None, ledger: None, deliveries: vec![delivery] }
    }

    /// Writes statistics: each tenant and endpoint has a minute of every hour, and the gateway every minute
    /// of the last day.
    async fn statistics(&self) -> anyhow::Result<()> {
        let now = now();
        let minute = |ago: u64| Time::from_secs((now.secs() / 60 - ago as i64) * 60);
        let figures = |delivered| Figures {
            accepted: delivered,
            attempts: delivered + delivered / 20,
            failed_attempts: delivered / 20,
            delivered,
            delivered_first: delivered - delivered / 20,
            ..Figures::default()
        };
        let mut rows = Vec::new();
        let gateway = Series::of_gateway(Lane::Webhook);
        for ago in 0..24 * 60 {
            rows.push(MinuteFigures {
                series: gateway,
                minute: minute(ago),
                figures: figures(900),
            });
        }
        for hour in 24..DAYS * 24 {
            rows.push(MinuteFigures {
                series: gateway,
                minute: minute(hour * 60),
                figures: figures(50_000),
            });
        }
        for (number, endpoint) in self.endpoints.iter().enumerate() {
            let of = Series::of_target(endpoint.tenant, endpoint.id, Lane::Webhook);
            for hour in 0..24 {
                let ago = hour * 60 + number as u64 % 60;
                rows.push(MinuteFigures { series: of, minute: minute(ago), figures: figures(40) });
            }
            let of = Series::of_tenant(endpoint.tenant, Lane::Webhook);
            let ago = number as u64 % (DAYS * 24) * 60;
            rows.push(MinuteFigures { series: of, minute: minute(ago), figures: figures(400) });
        }
        rows.sort_by_key(|row| row.minute);
        // Each is written at its own time, because late figures are not counted.
        let is_near = |one: &MinuteFigures, other: &MinuteFigures| {
            one.minute.secs() / 3_600 == other.minute.secs() / 3_600
        };
        for near in rows.chunk_by(is_near).flat_map(|near| near.chunks(BATCH)) {
            let Some(last) = near.last() else { continue };
            let batch = StatisticsBatch { node: self.node, part: 0, rows: near.to_vec() };
            self.store.write_statistics(batch, last.minute).await?;
        }
        while self.store.roll_up_statistics(BATCH, now).await? {}
        Ok(())
    }
}

/// Returns a settlement. Of a hundred, three are given up and two wait for a retry.
fn settlement(number: usize, new: &NewParcel) -> Settlement {
    let failure = (number % 100 < 5)
        .then(|| Failure::new(Code::http(503), "the endpoint responded with 503"));
    let next_at = now() + Duration::from_hours(2);
    let next = match (number % 100, &failure) {
        (0..3, Some(failure)) => NextStep::Dead(failure.clone()),
        (3..5, Some(_)) => NextStep::Retry { due_at: next_at, planned_at: next_at },
        _ => NextStep::Delivered,
    };
    let is_retry = matches!(next, NextStep::Retry { .. });
    let attempt = Attempt {
        number: 1,
        started_at: now(),
        latency: Duration::from_millis(20 + number as u64 % 200),
        request_headers: Bytes::from_static(b"content-type: application/json\n"),
        response_status: Some(if failure.is_some() { 503 } else { 200 }),
        response_headers: Bytes::from_static(b"content-length: 2\n"),
        response_body: Bytes::from_static(b"ok"),
        failure,
        next_at: is_retry.then_some(next_at),
    };
    Settlement {
        leased_at: None,
        tenant: new.parcel.tenant,
        delivery: new.deliveries[0].id,
        at: now(),
        attempt: Some(attempt),
        next,
        is_replay: false,
        in_order: false,
        follow: Vec::new(),
    }
}

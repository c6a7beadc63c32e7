//! From publishing to arrival, over real HTTP on loopback.

use std::{sync::Arc, time::Duration};

use anyhow::ensure;
use bytes::Bytes;
use clap::Args;
use gancho_domain::{Lane, TenantScope};
use gancho_outbound::NewEvent;
use gancho_vault::KeyRing;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use super::{place, report::Stopwatch};
use crate::{
    gateway::{Gateway, Setup},
    key_ring::LoadedKeyRing,
    receiver::Receiver,
};

/// Publish in a closed loop and wait until everything is delivered. The receiver, which verifies each
/// signature, runs in the same process and is part of the figures.
#[derive(Debug, Args)]
pub struct DeliverBench {
    /// Database: sqlite:PATH or postgres://… Default: a new SQLite file in a temporary directory.
    #[arg(long, env = "GANCHO_DATABASE_URL")]
    database_url: Option<String>,
    /// Number of deliveries.
    #[arg(long, default_value_t = 100_000)]
    deliveries: u64,
    /// Number of concurrent publishers.
    #[arg(long, default_value_t = 64)]
    publishers: u64,
    /// Number of tenants.
    #[arg(long, default_value_t = 50)]
    tenants: usize,
    /// Size of a body in bytes.
    #[arg(long, default_value_t = 1_024)]
    body: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl DeliverBench {
    pub async fn run(self) -> anyhow::Result<()> {
        let (url, _folder) = place::database(self.database_url.as_deref())?;
        let ring =
            LoadedKeyRing { keys: Arc::new(KeyRing::generate()?), file: None, is_new: false };
        let setup = Setup::plain(url, ring, gancho_egress::Settings::for_dev());
        let gateway = Arc::new(Gateway::start(setup).await?);
        let tasks = TaskTracker::new();
        let secret = gancho_wire::new_secret()?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (receiver, mut arrivals) = Receiver::start(listener, &secret, &tasks)?;
        let mut tenants = Vec::new();
        for number in 0..self.tenants.max(1) {
            let slug = format!("bench-{number}-{}", std::process::id());
            let tenant = gateway.tenants.get_or_create(&slug, "standard").await?;
            let url = format!("http://{}/{number}", receiver.address);
            gateway.add_endpoint(&tenant, &url, &secret).await?;
            tenants.push(tenant);
        }
        let tenants = Arc::new(tenants);
        let body =
            Bytes::from(format!("{{\"text\":\"{}\"}}", "x".repeat(self.body.saturating_sub(11))));

        let watch = Stopwatch::start();
        let each = self.deliveries / self.publishers;
        let total = each * self.publishers;
        for publisher in 0..self.publishers {
            let (gateway, tenants, body) = (gateway.clone(), tenants.clone(), body.clone());
            tasks.spawn(async move {
                for turn in 0..each {
                    let tenant = &tenants[(turn * 7 + publisher) as usize % tenants.len()];
                    let scope = TenantScope::internal(tenant.id);
                    let event = NewEvent {
                        event_type: "bench.event".parse()?,
                        data: body.clone(),
                        subject: None,
                        external_id: None,
                        idempotency_key: None,
                        deliver_at: None,
                        is_test: false,
                        trace: None,
                        intake_id: None,
                    };
                    gateway.publisher.publish(scope, tenant, event).await?;
                }
                anyhow::Ok(())
            });
        }
        for _ in 0..total {
            let arrival = tokio::time::timeout(Duration::from_secs(60), arrivals.recv()).await?;
            ensure!(
                arrival.is_some_and(|arrival| arrival.answered == 200),
                "the receiver refused a delivery"
            );
        }
        watch.report(&format!("{}: publish to arrival", gateway.store.name()), total, self.json);
        let stats = gateway.engine.stats(Lane::Webhook).unwrap_or_default();
        anstream::println!(
            "  {} handed over by publishers, {} claimed",
            stats.offered,
            stats.claimed
        );
        gateway.drain(Duration::from_secs(20)).await;
        Ok(())
    }
}

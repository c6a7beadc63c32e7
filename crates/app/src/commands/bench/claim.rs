//! Claims from a short and from a long backlog, and measures when a single delivery is claimed.

use anyhow::ensure;
use clap::Args;
use gancho_domain::Lane;
use gancho_store::{Claim, ClaimCursor};

use super::{
    place,
    report::Stopwatch,
    store::{ParcelGenerator, now},
};

/// Claim from a backlog, and measure how soon a single delivery of another tenant is claimed.
#[derive(Debug, Args)]
pub struct ClaimBench {
    /// Database: sqlite:PATH or postgres://… Default: a new SQLite file in a temporary directory.
    #[arg(long, env = "GANCHO_DATABASE_URL")]
    pub database_url: Option<String>,
    /// Number of waiting deliveries.
    #[arg(long, default_value_t = 1_000_000)]
    pub backlog: u64,
    /// Number of deliveries to claim.
    #[arg(long, default_value_t = 9_000)]
    pub claims: u64,
    /// Number of tenants.
    #[arg(long, default_value_t = 50)]
    pub tenants: usize,
    /// Size of a body in bytes.
    #[arg(long, default_value_t = 1_024)]
    pub body: usize,
    #[arg(long)]
    pub json: bool,
}

impl ClaimBench {
    pub async fn run(self) -> anyhow::Result<()> {
        let (url, _folder) = place::database(self.database_url.as_deref())?;
        let maker = ParcelGenerator::open(&url, self.tenants, self.body).await?;
        let name = maker.store.name();

        let watch = Stopwatch::start();
        let mut made = 0;
        while made < self.backlog {
            let size = (self.backlog - made).min(1_000);
            let parcels = (0..size).map(|n| maker.parcel((made + n) as usize, false)).collect();
            maker.store.accept(parcels, maker.node).await?;
            made += size;
        }
        watch.report(&format!("{name}: backlog filled"), made, self.json);

        let watch = Stopwatch::start();
        let mut claimed = 0;
        let mut cursor = ClaimCursor::default();
        while claimed < self.claims {
            let got = maker.store.claim(claim(&maker, cursor)).await?;
            ensure!(!got.jobs.is_empty(), "the backlog ran out after {claimed}");
            claimed += got.jobs.len() as u64;
            cursor = got.cursor;
        }
        watch.report(&format!("{name}: claims, backlog {}", self.backlog), claimed, self.json);

        let newcomer = maker.newcomer();
        let lone = newcomer.parcel(0, false);
        let tenant = lone.parcel.tenant;
        maker.store.accept(vec![lone], maker.node).await?;
        let mut rounds = 1;
        loop {
            let got = maker.store.claim(claim(&maker, cursor)).await?;
            cursor = got.cursor;
            if got.jobs.iter().any(|job| job.tenant == tenant) {
                break;
            }
            rounds += 1;
            ensure!(rounds < 100, "the new tenant's delivery was not claimed");
        }
        anstream::println!(
            "{name}: first delivery of a new tenant claimed in claim number {rounds}"
        );
        Ok(())
    }
}

fn claim(maker: &ParcelGenerator, cursor: ClaimCursor) -> Claim {
    Claim {
        node: maker.node,
        lane: Lane::Webhook,
        now: now(),
        max: 256,
        max_bytes: 32 << 20,
        per_target: 64,
        per_proven: 64,
        per_tenant: 64,
        proven: std::sync::Arc::default(),
        skip: std::sync::Arc::default(),
        first: Vec::new(),
        cursor,
    }
}

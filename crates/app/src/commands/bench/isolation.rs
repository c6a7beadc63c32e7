//! Checks the isolation guarantee: however many endpoints hang, drip, refuse, drop packets or respond slowly,
//! and whatever a tenant or an unauthenticated sender does, a healthy endpoint is not affected.
//!
//! Each scenario is a file: [`dead`], [`slow`], [`backlog`], [`batches`], [`fan_out`], [`changes`], [`lists`],
//! [`idle`] and [`ingest`]. They share [`endpoint`]s on loopback, the [`load`] with its [`arrivals`], the [`calls`]
//! that set them up, a [`place`] for each gateway's database, and the [`report`] with the verdicts.

mod arrivals;
mod backlog;
mod batches;
pub mod calls;
mod changes;
mod dead;
mod endpoint;
mod fan_out;
mod idle;
mod ingest;
mod limits;
mod lists;
mod load;
mod place;
mod report;
mod slow;

use clap::{Args, Subcommand};

use self::{place::StoreLocations, report::Report};
use super::child::Child;

/// Check that tenants and endpoints do not slow down each other.
///
/// Compares healthy traffic alone with healthy traffic next to each kind of failure, in one run. A healthy
/// endpoint must keep at least 80 % of its throughput, and its p99 latency may grow by at most 50 ms.
/// Prints a verdict for each row; the exit code is 3 if one fails. Without a scenario, all of them run with
/// sizes that take about 10 minutes.
#[derive(Debug, Args)]
pub struct IsolationBench {
    #[command(subcommand)]
    scenario: Option<Scenario>,
    /// PostgreSQL server to run on, where a database is created for each gateway and removed afterwards, or
    /// a SQLite file, whose directory is used. Default: SQLite in a temporary directory.
    #[arg(long, env = "GANCHO_DATABASE_URL", global = true)]
    database_url: Option<String>,
    /// Use the full sizes, which take far longer.
    #[arg(long, global = true)]
    full: bool,
    /// Print a line of JSON for each row instead of tables.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Scenario {
    Dead(dead::Dead),
    Slow(slow::Slow),
    Backlog(backlog::Backlog),
    Batches(batches::Batches),
    FanOut(fan_out::FanOut),
    Changes(changes::Changes),
    Lists(lists::Lists),
    Idle(idle::Idle),
    Ingest(ingest::Ingest),
}

/// What every scenario uses.
struct Bench {
    report: Report,
    places: StoreLocations,
    is_full: bool,
}

impl Bench {
    /// Starts a gateway on an empty database, with its default settings.
    async fn start_gateway(&mut self) -> anyhow::Result<Child> {
        let (url, folder) = self.places.next().await?;
        Child::start(&url, &folder, &[]).await
    }

    /// Returns the given size, or the one of a short or of a full run.
    fn size<T>(&self, given: Option<T>, short: T, full: T) -> T {
        given.unwrap_or(if self.is_full { full } else { short })
    }
}

impl IsolationBench {
    pub async fn run(self) -> anyhow::Result<()> {
        let Self { scenario, database_url, full, json } = self;
        let places = StoreLocations::new(database_url);
        let mut bench = Bench { report: Report::new(json), places, is_full: full };
        let done = tokio::select! {
            done = run(scenario, &mut bench) => done,
            _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted")),
        };
        // No database stays behind, even after an error.
        let cleared = bench.places.clear().await;
        done.and(cleared)?;
        bench.report.finish()
    }
}

async fn run(scenario: Option<Scenario>, bench: &mut Bench) -> anyhow::Result<()> {
    match scenario {
        Some(Scenario::Dead(dead)) => dead.run(bench).await,
        Some(Scenario::Slow(slow)) => slow.run(bench).await,
        Some(Scenario::Backlog(backlog)) => backlog.run(bench).await,
        Some(Scenario::Batches(batches)) => batches.run(bench).await,
        Some(Scenario::FanOut(fan_out)) => fan_out.run(bench).await,
        Some(Scenario::Changes(changes)) => changes.run(bench).await,
        Some(Scenario::Lists(lists)) => lists.run(bench).await,
        Some(Scenario::Idle(idle)) => idle.run(bench).await,
        Some(Scenario::Ingest(ingest)) => ingest.run(bench).await,
        None => {
            dead::Dead::default().run(bench).await?;
            dead::Dead::of_one_tenant(bench.is_full).run(bench).await?;
            slow::Slow::default().run(bench).await?;
            backlog::Backlog::default().run(bench).await?;
            batches::Batches::default().run(bench).await?;
            fan_out::FanOut::default().run(bench).await?;
            changes::Changes::default().run(bench).await?;
            lists::Lists::default().run(bench).await?;
            idle::Idle::default().run(bench).await?;
            ingest::Ingest::default().run(bench).await
        }
    }
}

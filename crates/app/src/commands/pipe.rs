//! `gancho pipe`: sends each line of standard input as a signed webhook to one URL.

use std::{
    fmt::Display,
    io::Write,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context;
use bytes::Bytes;
use clap::Args;
use gancho_domain::{EventId, EventType, Tenant, TenantScope};
use gancho_outbound::{EndpointDraft, NewEvent};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    sync::Semaphore,
};
use tokio_util::task::TaskTracker;

use super::Failure;
use crate::{
    gateway::{Gateway, Setup},
    key_ring,
    lifecycle::Stop,
    logs, private_file,
    settings::LogFormat,
};

/// Send each line of standard input (JSON) as a signed webhook to one URL.
///
/// Prints the number of each line and the id of its event once it is stored and fsynced; from then on it is
/// delivered, even after a restart. Lines that are not valid are reported and skipped, and the exit code is then 8.
#[derive(Debug, Args)]
pub struct Pipe {
    /// URL to send to.
    #[arg(long)]
    url: String,
    /// Signing secret. Default: generated and printed to standard error.
    #[arg(long, env = "GANCHO_PIPE_SECRET", hide_env_values = true)]
    secret: Option<String>,
    /// Event type.
    #[arg(long = "type", default_value = "pipe.line")]
    event_type: EventType,
    /// Data directory: database and key ring.
    #[arg(long, env = "GANCHO_DATA_DIR", default_value = ".gancho")]
    data_dir: PathBuf,
    /// Database: sqlite:PATH or postgres://… Default: pipe.db in the data directory.
    #[arg(long, env = "GANCHO_DATABASE_URL")]
    database_url: Option<String>,
    /// Allow http:// and loopback addresses.
    #[arg(long)]
    local: bool,
    /// At the end of the input, wait until every event is delivered or a dead letter.
    #[arg(long)]
    drain: bool,
    /// Maximum number of lines that are stored at the same time.
    #[arg(long, default_value_t = 256)]
    in_flight: usize,
    /// Print a line of JSON for each line: `{"line": 1, "id": "evt_…"}`, or `{"line": 2, "error": "…"}` for one that is skipped.
    #[arg(long)]
    json: bool,
}

impl Pipe {
    pub async fn run(self) -> anyhow::Result<()> {
        logs::start(LogFormat::Auto, logs::QUIET);
        let mut stop = Stop::listen();
        let client = self.client()?;
        private_file::folder(&self.data_dir)?;
        let own = format!("sqlite:{}", self.data_dir.join("pipe.db").display());
        let ring = key_ring::in_folder(&self.data_dir)?;
        let url = self.database_url.clone().unwrap_or(own);
        let gateway = Arc::new(Gateway::start(Setup::plain(url, ring, client)).await?);
        let tenant = Arc::new(gateway.tenants.get_or_create("pipe", "standard").await?);
        self.aim(&gateway, &tenant).await?;

        let counts = Arc::new(Counts { as_json: self.json, ..Counts::default() });
        let work = async {
            self.feed(&gateway, &tenant, &counts).await?;
            if self.drain { drained(&gateway).await } else { Ok(()) }
        };
        tokio::select! {
            biased;
            () = stop.requested() => {}
            fatal = gateway.engine.failed() => return Err(fatal.into()),
            done = work => done?,
        }
        gateway.drain(Duration::from_secs(20)).await;
        counts.check()
    }

    /// Returns the settings of deliveries, if they allow the URL.
    fn client(&self) -> anyhow::Result<gancho_egress::Settings> {
        let local = gancho_egress::Settings::for_dev();
        let is_local_url = local.policy.parse(&self.url).is_ok();
        let client = if self.local { local } else { gancho_egress::Settings::default() };
        match client.policy.parse(&self.url) {
            Ok(_) => Ok(client),
            Err(error) => {
                let hint = if is_local_url {
                    "add --local for http:// and addresses of this machine"
                } else {
                    error.hint()
                };
                Err(Failure::usage(format!("--url: {}. hint: {hint}", error.what())))
            }
        }
    }

    /// Sets up the only endpoint, at the given URL.
    async fn aim(&self, gateway: &Gateway, tenant: &Tenant) -> anyhow::Result<()> {
        let scope = TenantScope::internal(tenant.id);
        let known = gateway.store.endpoints(scope).await?;
        if known.iter().any(|endpoint| endpoint.url == self.url) && self.secret.is_none() {
            return Ok(());
        }
        let secret = match &self.secret {
            Some(secret) => secret.clone(),
            None => gancho_wire::new_secret()?,
        };
        match known.into_iter().next() {
            // Waiting deliveries are sent to the new URL.
            Some(endpoint) => {
                let draft = EndpointDraft {
                    url: Some(self.url.clone()),
                    secret: Some(secret.clone()),
                    is_active: Some(true),
                    ..EndpointDraft::default()
                };
                gateway.endpoints.change(scope, endpoint.id, draft, false).await?;
            }
            None => drop(gateway.add_endpoint(tenant, &self.url, &secret).await?),
        }
        if self.secret.is_none() {
            anstream::eprintln!("signing secret: {secret}");
        }
        Ok(())
    }

    /// Stores every valid line and counts all lines. An invalid line does not stop the others.
    async fn feed(
        &self,
        gateway: &Arc<Gateway>,
        tenant: &Arc<Tenant>,
        counts: &Arc<Counts>,
    ) -> anyhow::Result<()> {
        let mut lines = BufReader::new(tokio::io::stdin()).split(b'\n');
        let room = Arc::new(Semaphore::new(self.in_flight.max(1)));
        let tasks = TaskTracker::new();
        let mut number = 0_u64;
        let read = loop {
            let line = match lines.next_segment().await {
                Ok(Some(line)) => line,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            number += 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            counts.read.fetch_add(1, Ordering::Relaxed);
            if serde_json::from_slice::<&serde_json::value::RawValue>(&line).is_err() {
                counts.refuse(number, "not valid JSON");
                continue;
            }
            let permit = room.clone().acquire_owned().await?;
            let (gateway, tenant, counts) = (gateway.clone(), tenant.clone(), counts.clone());
            let event_type = self.event_type.clone();
            tasks.spawn(async move {
                publish(&gateway, &tenant, event_type, line, number, &counts).await;
                drop(permit);
            });
        };
        tasks.close();
        tasks.wait().await;
        read.with_context(|| format!("cannot read the input after line {number}"))
    }
}

/// Counters of the lines that are not blank.
#[derive(Default)]
struct Counts {
    as_json: bool,
    read: AtomicU64,
    refused: AtomicU64,
}

impl Counts {
    fn refuse(&self, number: u64, why: impl Display) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        if self.as_json {
            print(&json!({ "line": number, "error": why.to_string() }).to_string());
        } else {
            anstream::eprintln!("line {number} skipped: {why}");
        }
    }

    fn accept(&self, number: u64, id: EventId) {
        if self.as_json {
            print(&json!({ "line": number, "id": id.to_string() }).to_string());
        } else {
            print(&format!("{number} {id}"));
        }
    }

    fn check(&self) -> anyhow::Result<()> {
        let (read, refused) =
            (self.read.load(Ordering::Relaxed), self.refused.load(Ordering::Relaxed));
        if refused == 0 {
            return Ok(());
        }
        Err(Failure::partly(format!("skipped {refused} of {read} lines")))
    }
}

/// Writes a line at once, so that lines of several tasks do not mix. A closed output does not change what is published.
fn print(line: &str) {
    let _ = std::io::stdout().write_all(format!("{line}\n").as_bytes());
}

async fn publish(
    gateway: &Gateway,
    tenant: &Tenant,
    event_type: EventType,
    line: Vec<u8>,
    number: u64,
    counts: &Counts,
) {
    let event = NewEvent {
        event_type,
        data: Bytes::from(line),
        subject: None,
        external_id: None,
        idempotency_key: None,
        deliver_at: None,
        is_test: false,
        trace: None,
        intake_id: None,
    };
    let scope = TenantScope::internal(tenant.id);
    match gateway.publisher.publish(scope, tenant, event).await {
        Ok(published) => counts.accept(number, published.id),
        Err(error) => counts.refuse(number, error),
    }
}

async fn drained(gateway: &Gateway) -> anyhow::Result<()> {
    loop {
        let depths = gateway.store.depths().await?;
        if depths.iter().all(|lane| lane.pending + lane.leased + lane.waiting == 0) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

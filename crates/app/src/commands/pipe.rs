//! `gancho pipe`: each line of standard input becomes a signed webhook to one URL.

use std::{io::Write, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use bytes::Bytes;
use clap::Args;
use gancho_domain::{EventType, TenantScope};
use gancho_engine::Limits;
use gancho_outbound::{NewEvent, deliver};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    sync::Semaphore,
};
use tokio_util::task::TaskTracker;

use crate::{
    gateway::{Gateway, Setup, key_ring},
    lifecycle,
};

/// Send each line of standard input (JSON) as a signed webhook to one URL, and print its id once it
/// is on stable storage. What was printed is delivered, now or when this is started again.
#[derive(Debug, Args)]
pub struct Pipe {
    /// Where to send them.
    #[arg(long)]
    url: String,
    /// What to sign with; one is made and printed to standard error if not given.
    #[arg(long, env = "GANCHO_PIPE_SECRET", hide_env_values = true)]
    secret: Option<String>,
    /// The events' type.
    #[arg(long = "type", default_value = "pipe.line")]
    event_type: EventType,
    /// Where to keep the database and the key ring.
    #[arg(long, env = "GANCHO_DATA_DIR", default_value = ".gancho")]
    data_dir: PathBuf,
    /// Another database than the one in the data folder: sqlite:PATH or postgres://…
    #[arg(long, env = "GANCHO_DATABASE_URL")]
    database_url: Option<String>,
    /// Allow http:// and addresses of this machine.
    #[arg(long)]
    local: bool,
    /// At the end of the input, wait until everything has been delivered or given up.
    #[arg(long)]
    drain: bool,
    /// Lines being stored at the same time.
    #[arg(long, default_value_t = 256)]
    in_flight: usize,
}

impl Pipe {
    pub async fn run(self) -> anyhow::Result<()> {
        std::fs::create_dir_all(&self.data_dir)
            .with_context(|| format!("cannot make the folder {}", self.data_dir.display()))?;
        let own = format!("sqlite:{}", self.data_dir.join("pipe.db").display());
        let gateway = Gateway::start(Setup {
            database_url: self.database_url.as_deref().unwrap_or(&own),
            ring: key_ring(&self.data_dir)?,
            client: if self.local {
                deliver::Settings::for_dev()
            } else {
                deliver::Settings::default()
            },
            limits: Limits::default(),
            concurrency: 512,
        })
        .await?;
        let gateway = Arc::new(gateway);
        let scope = gateway.tenant("pipe").await?;
        self.aim(&gateway, scope).await?;

        let stop = lifecycle::stop_asked();
        let work = async {
            self.feed(&gateway, scope).await?;
            if self.drain { drained(&gateway).await } else { Ok(()) }
        };
        tokio::select! {
            biased;
            () = stop => {}
            fatal = gateway.engine.failed() => return Err(fatal.into()),
            done = work => done?,
        }
        gateway.engine.stop(Duration::from_secs(20)).await;
        Ok(())
    }

    /// One endpoint, at the URL that was given.
    async fn aim(&self, gateway: &Gateway, scope: TenantScope) -> anyhow::Result<()> {
        let known = gateway.store.endpoints(scope).await?;
        if known.iter().any(|endpoint| endpoint.url == self.url) && self.secret.is_none() {
            return Ok(());
        }
        let secret = match &self.secret {
            Some(secret) => secret.clone(),
            None => gancho_wire::new_secret()?,
        };
        match known.into_iter().next() {
            // What waits for the old address goes to the new one.
            Some(mut endpoint) => {
                endpoint.url.clone_from(&self.url);
                gateway.reseal(scope, endpoint, &secret).await?;
            }
            None => drop(gateway.add_endpoint(scope, &self.url, &secret).await?),
        }
        if self.secret.is_none() {
            anstream::eprintln!("signing with {secret}");
        }
        Ok(())
    }

    async fn feed(&self, gateway: &Arc<Gateway>, scope: TenantScope) -> anyhow::Result<()> {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        let room = Arc::new(Semaphore::new(self.in_flight.max(1)));
        let tasks = TaskTracker::new();
        let mut number = 0_u64;
        while let Some(line) = lines.next_line().await? {
            number += 1;
            if line.trim().is_empty() {
                continue;
            }
            ensure!(
                serde_json::from_str::<&serde_json::value::RawValue>(&line).is_ok(),
                "line {number} is not JSON: nothing after line {} was sent",
                number - 1
            );
            let permit = room.clone().acquire_owned().await?;
            let (gateway, event_type) = (gateway.clone(), self.event_type.clone());
            tasks.spawn(async move {
                publish(&gateway, scope, event_type, line, number).await;
                drop(permit);
            });
        }
        tasks.close();
        tasks.wait().await;
        Ok(())
    }
}

async fn publish(
    gateway: &Gateway,
    scope: TenantScope,
    event_type: EventType,
    line: String,
    number: u64,
) {
    let event = NewEvent {
        event_type,
        data: Bytes::from(line),
        subject: None,
        external_id: None,
        once: None,
        deliver_at: None,
        is_test: false,
    };
    // One write a line, so that lines of several tasks do not mix.
    match gateway.publisher.publish(scope, event).await {
        Ok(published) => {
            let _ = std::io::stdout().write_all(format!("{number} {}\n", published.id).as_bytes());
        }
        Err(error) => anstream::eprintln!("line {number} was not accepted: {error}"),
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

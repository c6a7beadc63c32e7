//! `gancho dev`: runs everything with built-in defaults, delivers a first event and suggests what to try
//! next.
//!
//! `stage` sets up the sample tenant, its API key and its endpoint; `screen` prints; `keyboard` answers the
//! keyboard.

mod keyboard;
mod screen;
mod stage;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::Args;
use tokio_util::task::TaskTracker;

use crate::{dev_gateway, lifecycle::Stop, logs, settings::LogFormat};

/// Run everything with built-in defaults and deliver a first signed event.
///
/// Configuration files and environment variables are ignored, so real data is never touched.
#[derive(Debug, Args)]
pub struct Dev {
    /// Data directory, kept between runs. Delete it to start over.
    #[arg(long, default_value = dev_gateway::DATA_DIR, value_name = "DIR")]
    data_dir: PathBuf,
    /// Port of the API. If it is in use, the next free port.
    #[arg(long, default_value_t = 3000)]
    port: u16,
    /// Deliver the first event and exit.
    #[arg(long)]
    once: bool,
}

const IN_TIME: Duration = Duration::from_secs(10);
const TO_STOP: Duration = Duration::from_secs(10);

impl Dev {
    pub async fn run(self) -> anyhow::Result<()> {
        let started = Instant::now();
        let mut stop = Stop::listen();
        logs::start(LogFormat::Pretty, logs::QUIET);
        let tasks = TaskTracker::new();
        let (stage, mut arrivals) = stage::set(&self.data_dir, self.port, &tasks).await?;
        screen::opening(&stage, self.port);

        let first = stage.publish(1).await?;
        screen::published(&first);
        let arrived = tokio::time::timeout(IN_TIME, arrivals.recv())
            .await
            .context("the first event was not delivered within 10 seconds")?
            .context("the built-in receiver has stopped")?;
        screen::arrived(&arrived);
        screen::first(started.elapsed());
        screen::next_steps(&stage);

        if !self.once {
            tokio::select! {
                biased;
                () = stop.asked() => screen::gap(),
                fatal = stage.gateway.engine.failed() => return Err(fatal.into()),
                ended = keyboard::run(&stage, &mut arrivals) => ended?,
            }
        }
        let stopped = tokio::select! {
            biased;
            () = stop.asked() => anyhow::bail!("stopped immediately; in-flight deliveries will be retried at the next start"),
            stopped = stage.servers.drain(&stage.gateway, TO_STOP) => stopped,
        };
        screen::closing(stopped.unfinished, &self.data_dir);
        Ok(())
    }
}

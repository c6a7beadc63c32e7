//! `gancho dev`: everything on embedded defaults, with a first delivery to look at and something to
//! type next.
//!
//! `stage` sets the sample tenant, its key and its endpoint up; `screen` is what is shown; `talk`
//! answers what is typed.

mod screen;
mod stage;
mod talk;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::Args;
use tokio_util::task::TaskTracker;

use crate::{lifecycle::Stop, logs, settings::LogFormat};

/// Start everything on embedded defaults and deliver a first signed event. Settings files and
/// variables are not read, so that nothing real is touched.
#[derive(Debug, Args)]
pub struct Dev {
    /// The folder that it keeps its data in between runs. Delete it to begin anew.
    #[arg(long, default_value = ".gancho-dev", value_name = "FOLDER")]
    data_dir: PathBuf,
    /// The port of the API; the next free one if it is taken.
    #[arg(long, default_value_t = 3000)]
    port: u16,
    /// Deliver the first event, then stop.
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
            .context("nothing arrived within 10 seconds")?
            .context("the receiver has stopped")?;
        screen::arrived(&arrived);
        screen::first(started.elapsed());
        screen::next_steps(&stage);

        if !self.once {
            tokio::select! {
                biased;
                () = stop.asked() => screen::gap(),
                fatal = stage.gateway.engine.failed() => return Err(fatal.into()),
                ended = talk::talk(&stage, &mut arrivals) => ended?,
            }
        }
        let stopped = tokio::select! {
            biased;
            () = stop.asked() => anyhow::bail!("stopped at once; what was in flight is delivered next time"),
            stopped = stage.front.drain(&stage.gateway, TO_STOP) => stopped,
        };
        screen::closing(stopped.unfinished, &self.data_dir);
        Ok(())
    }
}

//! `gancho dev`: runs everything with built-in defaults, delivers a first event and suggests what to try
//! next.
//!
//! `stage` sets up the sample tenant, its API key and its endpoint; `feed` follows the deliveries, and
//! `rejections` rejected webhooks; `screen` prints; `keyboard` reads keys, and `actions` runs their actions.

mod actions;
mod feed;
mod keyboard;
mod rejections;
mod screen;
mod stage;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::Args;
use tokio_util::task::TaskTracker;

use self::{feed::Feed, keyboard::Keyboard, rejections::Rejections, stage::Stage};
use crate::{dev_gateway, lifecycle::Stop, logs, settings::LogFormat};

/// Run everything with built-in defaults and deliver a first signed event.
///
/// Configuration files and environment variables are ignored, so real data is never touched.
#[derive(Debug, Args)]
pub struct Dev {
    /// Data directory, kept between runs. Delete it to start over.
    #[arg(long, default_value = dev_gateway::DATA_DIR, value_name = "DIR")]
    data_dir: PathBuf,
    /// Port of the API. If it is in use, the next free port; 0 is any free port.
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
        // The screen shows errors already.
        logs::start(LogFormat::Pretty, "error");
        let tasks = TaskTracker::new();
        let (stage, arrivals) = Box::pin(stage::set(&self.data_dir, self.port, &tasks)).await?;
        let mut feed = Feed::of(&stage, arrivals);
        screen::opening(&stage, self.port, !self.once);

        actions::publish(&stage).await?;
        tokio::time::timeout(IN_TIME, feed.first_delivery(&stage))
            .await
            .context("the first event was not delivered within 10 seconds")??;
        screen::first(started.elapsed());

        if !self.once {
            screen::next_steps(&stage);
            tokio::select! {
                biased;
                () = stop.requested() => screen::gap(),
                fatal = stage.gateway.engine.failed() => return Err(fatal.into()),
                ended = follow(&stage, &mut feed) => ended?,
            }
        }
        let stopped = tokio::select! {
            biased;
            () = stop.requested() => anyhow::bail!("stopped immediately; in-flight deliveries will be retried at the next start"),
            stopped = stage.servers.drain(&stage.gateway, TO_STOP) => stopped,
        };
        screen::closing(stopped.unfinished, &self.data_dir);
        Ok(())
    }
}

/// Shows deliveries and handles keys until `q` is pressed. Without a terminal, until the process is asked to
/// stop.
async fn follow(stage: &Stage, feed: &mut Feed) -> anyhow::Result<()> {
    let mut rejections = Rejections::from_now(stage).await?;
    let mut keyboard = Keyboard::open()?;
    if keyboard.is_there() {
        screen::keys(keyboard.is_terminal());
    }
    loop {
        tokio::select! {
            biased;
            shown = feed.show_next(stage) => drop(shown?),
            rejected = rejections.next(stage) => rejected?.iter().for_each(screen::rejected),
            key = keyboard.next() => match key? {
                'q' => return Ok(()),
                '?' | 'h' => screen::help(stage),
                key => {
                    if !actions::answer(stage, key).await? {
                        screen::keys(keyboard.is_terminal());
                    }
                }
            },
        }
    }
}

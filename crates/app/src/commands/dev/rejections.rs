//! Rejected webhooks of the sample partner: they make no delivery, so the feed does not have them.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::stage::{PARTNER, Stage};

pub struct Rejections {
    ticks: Interval,
    /// When the last one that was seen was rejected.
    seen_until: Option<String>,
}

const EVERY: Duration = Duration::from_secs(1);

impl Rejections {
    /// Starts with rejections from now on.
    pub async fn from_now(stage: &Stage) -> anyhow::Result<Self> {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut rejections = Self { ticks, seen_until: None };
        rejections.fetch_new(stage).await?;
        Ok(rejections)
    }

    /// Waits a moment, and returns what was rejected meanwhile, oldest first.
    pub async fn next(&mut self, stage: &Stage) -> anyhow::Result<Vec<Value>> {
        self.ticks.tick().await;
        self.fetch_new(stage).await
    }

    async fn fetch_new(&mut self, stage: &Stage) -> anyhow::Result<Vec<Value>> {
        let listed = stage.operator.get(&format!("/v1/sources/{PARTNER}/rejections")).await?;
        let mut listed = listed["data"].as_array().cloned().unwrap_or_default();
        listed.reverse();
        listed.retain(|rejection| rejection["at"].as_str() > self.seen_until.as_deref());
        if let Some(last) = listed.last().and_then(|last| last["at"].as_str()) {
            self.seen_until = Some(last.to_owned());
        }
        Ok(listed)
    }
}

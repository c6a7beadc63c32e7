//! The statistics of an endpoint.

use std::time::Duration;

use gancho_domain::Time;
use http::Method;
use serde::Deserialize;
use serde_json::json;

use crate::{
    svix_error::SvixError,
    visit::{Reply, Visit, segment},
};

/// The ranges that the API has, and the step of each.
const RANGES: [(Duration, &str, &str); 6] = [
    (Duration::from_mins(15), "15m", "1m"),
    (Duration::from_hours(1), "1h", "1m"),
    (Duration::from_hours(6), "6h", "5m"),
    (Duration::from_hours(24), "24h", "1h"),
    (Duration::from_hours(7 * 24), "7d", "1h"),
    (Duration::from_hours(30 * 24), "30d", "6h"),
];
/// How long a request may have been on its way.
const GRACE: Duration = Duration::from_mins(1);
/// The default of Svix.
const DEFAULT_WINDOW: Duration = Duration::from_hours(28 * 24);

#[derive(Deserialize)]
struct Stats {
    bins: Vec<Bin>,
}

#[derive(Deserialize)]
struct Bin {
    at: Time8601,
    accepted: u64,
    attempts: u64,
    failed_attempts: u64,
    delivered: u64,
    dead_letters: u64,
}

/// A time in the form of RFC 3339.
struct Time8601(Time);

impl<'de> Deserialize<'de> for Time8601 {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = String::deserialize(source)?;
        read_time(&text).map(Self).ok_or_else(|| serde::de::Error::custom("not a time"))
    }
}

fn read_time(text: &str) -> Option<Time> {
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(Time::from_millis(time.as_millisecond()))
}

/// Returns the bins of the requested window.
async fn bins(visit: &Visit) -> Result<Vec<Bin>, SvixError> {
    let now = visit.svix.clock.now();
    let mut query = visit.query();
    let mut time = |name: &str| {
        let text = query.time(name)?;
        let read = read_time(&text);
        if read.is_none() {
            query.error(name, "must be a time such as `2026-01-31T12:00:00Z`");
        }
        read
    };
    let since = time("since").unwrap_or(now - DEFAULT_WINDOW);
    let until = time("until").unwrap_or(now);
    let longest = RANGES[RANGES.len() - 1];
    if since < now - (longest.0 + GRACE) {
        query.error("since", "must be within the last 30 days: older figures are not kept");
    }
    query.finish()?;
    let app = visit.app().await?;
    let id = visit.endpoint(&app).await?.id;
    let age = Duration::from_millis(now.millis().saturating_sub(since.millis()).max(0) as u64);
    let range = RANGES.iter().find(|(range, ..)| *range >= age).unwrap_or(&longest);
    let path = format!("/v1/webhooks/{}/stats", segment(&id));
    let call = visit.call(&app, Method::GET, path);
    let stats: Stats = call.query(&[("range", range.1), ("step", range.2)]).run().await?;
    // A bin that began before the window is left out, unless it is the whole range.
    let is_inside = |bin: &Bin| {
        let step = gancho_domain::span::parse(range.2).unwrap_or_default();
        bin.at.0 + step > since && bin.at.0 < until
    };
    Ok(stats.bins.into_iter().filter(is_inside).collect())
}

pub async fn endpoint(visit: Visit) -> Result<Reply, SvixError> {
    let bins = bins(&visit).await?;
    let sum = |of: fn(&Bin) -> u64| bins.iter().map(of).sum::<u64>();
    let (success, fail) = (sum(|bin| bin.delivered), sum(|bin| bin.dead_letters));
    let pending = sum(|bin| bin.accepted).saturating_sub(success + fail);
    Reply::ok(&json!({
        "success": success, "pending": pending, "sending": 0, "fail": fail, "canceled": 0,
    }))
}

pub async fn endpoint_attempts(visit: Visit) -> Result<Reply, SvixError> {
    let bins = bins(&visit).await?;
    let sum = |of: fn(&Bin) -> u64| bins.iter().map(of).sum::<u64>();
    let fail = sum(|bin| bin.failed_attempts);
    let success = sum(|bin| bin.attempts).saturating_sub(fail);
    Reply::ok(&json!({"success": success, "fail": fail, "canceled": 0}))
}

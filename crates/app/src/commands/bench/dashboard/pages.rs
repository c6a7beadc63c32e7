//! Reads every page and the metrics a few times, and measures the time to the first byte and to the last.

use std::time::Duration;

use serde_json::json;

use super::{
    client::{Browser, PageTime},
    seed::Seed,
};

const ROUNDS: usize = 5;
const MAX_PAGE: Duration = Duration::from_millis(200);
const MAX_SCRAPE: Duration = Duration::from_millis(50);
/// For the overview.
const MAX_FIRST_BYTE: Duration = Duration::from_millis(50);

pub async fn measure(browser: &Browser, seed: &Seed, json: bool) -> anyhow::Result<()> {
    if !json {
        anstream::println!(
            "{:<52} {:>12} {:>10} {:>10} {:>14}",
            "page (the slowest of 5)",
            "first byte",
            "whole",
            "KiB",
            "of its time"
        );
    }
    for path in paths(seed) {
        let mut slowest = PageTime::default();
        for _ in 0..ROUNDS {
            let took = browser.load(&path).await?;
            slowest.first_byte = slowest.first_byte.max(took.first_byte);
            slowest.whole = slowest.whole.max(took.whole);
            slowest.bytes = took.bytes;
        }
        report(&path, slowest, MAX_PAGE, json);
    }
    let mut slowest = PageTime::default();
    for _ in 0..ROUNDS {
        let took = browser.load("/metrics").await?;
        slowest.first_byte = slowest.first_byte.max(took.first_byte);
        slowest.whole = slowest.whole.max(took.whole);
        slowest.bytes = took.bytes;
        // Data from the store is cached for two seconds.
        tokio::time::sleep(Duration::from_millis(2_500)).await;
    }
    report("/metrics", slowest, MAX_SCRAPE, json);
    Ok(())
}

fn report(path: &str, took: PageTime, max: Duration, json: bool) {
    let millis = |took: Duration| took.as_secs_f64() * 1e3;
    let ratio = took.whole.as_secs_f64() / max.as_secs_f64();
    let is_in_time = took.whole <= max && (path != "/ui/" || took.first_byte <= MAX_FIRST_BYTE);
    if json {
        let line = json!({
            "page": path, "first_byte_ms": millis(took.first_byte), "whole_ms": millis(took.whole),
            "bytes": took.bytes, "ratio": ratio, "is_in_time": is_in_time,
        });
        anstream::println!("{line}");
        return;
    }
    anstream::println!(
        "{path:<52} {:>9.1} ms {:>7.1} ms {:>10.1} {ratio:>13.2}x{}",
        millis(took.first_byte),
        millis(took.whole),
        took.bytes as f64 / 1024.0,
        if is_in_time { "" } else { "  too slow" }
    );
}

fn paths(seed: &Seed) -> Vec<String> {
    let Seed { tenant, endpoint, delivery, event } = seed;
    let mut paths: Vec<String> = [
        "/ui/",
        "/ui/?range=30d",
        "/ui/deliveries",
        "/ui/deliveries?status=failed",
        "/ui/deliveries?status=retrying",
        "/ui/deliveries?type=nothing.here",
        "/ui/deliveries?text=nowhere",
        "/ui/events",
        "/ui/events?unmatched=true",
        "/ui/endpoints",
        "/ui/event-types",
        "/ui/dead-letters",
        "/ui/replays",
        "/ui/sources",
        "/ui/ledger",
        "/ui/tenants",
        "/ui/queues",
        "/ui/nodes",
        "/ui/users",
        "/ui/audit",
        "/ui/search?q=nothing",
    ]
    .map(str::to_owned)
    .into();
    paths.extend([
        format!("/ui/deliveries?tenant={tenant}"),
        format!("/ui/deliveries?tenant={tenant}&endpoint={endpoint}"),
        format!("/ui/deliveries/{delivery}?tenant={tenant}"),
        format!("/ui/events/{event}?tenant={tenant}"),
        format!("/ui/endpoints?tenant={tenant}"),
        format!("/ui/endpoints/{endpoint}?tenant={tenant}"),
        format!("/ui/dead-letters?tenant={tenant}"),
        format!("/ui/tenants/{tenant}"),
    ]);
    paths
}

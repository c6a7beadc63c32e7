//! The output of `gancho dev`. The texts are the same without a terminal.

use std::{path::Path, time::Duration};

use gancho_domain::Lane;
use gancho_outbound::Published;

use super::stage::{PARTNER, Stage};
use crate::{
    paint::{BLUE, BOLD, DIM, GREEN, RED, YELLOW},
    receiver::{Arrival, Mode},
};

/// Longer bodies are truncated.
const MAX_WIDTH: usize = 160;

pub fn opening(stage: &Stage, asked_port: u16) {
    let version = env!("CARGO_PKG_VERSION");
    let api = stage.servers.address;
    anstream::println!("\n  {BOLD}Gancho {version} is running.{BOLD:#}\n");
    let row = |name: &str, value: &str, note: &str| {
        anstream::println!("  {DIM}{name:<9}{DIM:#} {value:<36} {DIM}{note}{DIM:#}");
    };
    let base = format!("http://{api}");
    let note = if api.port() == asked_port {
        "API docs at /docs, metrics at /metrics".to_owned()
    } else {
        format!("port {asked_port} is in use; using {}", api.port())
    };
    row("API", &base, &note);
    let note = "sign in with the token in admin.token, in the data directory";
    row("dashboard", &format!("{base}/ui/"), note);
    if let Some(link) = &stage.login_link {
        row("", link, "signs in by itself: once, within 10 minutes");
    }
    row(
        "receiver",
        &format!("http://{}", stage.receiver.address),
        "built in, verifies every signature",
    );
    row("tenant", &stage.tenant.slug, &stage.tenant.id.to_string());
    row("endpoint", "the receiver, all event types", &stage.endpoint.to_string());
    row(
        "partner",
        &format!("http://{}/webhooks/{PARTNER}", stage.ingest),
        "inbound webhooks are forwarded to the receiver",
    );
    row("e-mail", "captured, never sent", "list with `gancho emails caught`");
    row("data", &stage.data_dir, "kept between runs; delete it to start over");
    anstream::println!();
}

pub fn published(event: &Published) {
    anstream::println!(
        "  {BLUE}→{BLUE:#} {:<10} {}  {DIM}stored and fsynced{DIM:#}",
        "published",
        event.id
    );
}

pub fn arrived(arrival: &Arrival) {
    let body = String::from_utf8_lossy(&arrival.body);
    let (mark, paint, note) = match (arrival.refusal, arrival.answered) {
        (Some(why), _) => ("✗", RED, format!("signature rejected: {why}")),
        (None, 200..300) => ("✓", GREEN, "signature verified, responded 200".to_owned()),
        (None, status) => (
            "✗",
            YELLOW,
            format!("signature verified, responded {status} as configured; will be retried"),
        ),
    };
    anstream::println!("  {paint}{mark}{paint:#} {:<10} {}  {note}", "received", arrival.id);
    let cut: String = body.chars().take(MAX_WIDTH).collect();
    let more = if cut.len() < body.len() { " …" } else { "" };
    anstream::println!("    {DIM}{cut}{more}{DIM:#}");
}

pub fn first(took: Duration) {
    anstream::println!("    {DIM}first delivery {} ms after startup{DIM:#}\n", took.as_millis());
}

/// Commands that can be copied and run as they are.
pub fn next_steps(stage: &Stage) {
    let api = stage.servers.address;
    let key = stage.api_key.reveal();
    anstream::println!("  {BOLD}Publish an event:{BOLD:#}\n");
    anstream::println!(
        "    curl http://{api}/v1/events \\\n      \
         -H 'X-API-Key: {key}' \\\n      \
         -H 'Content-Type: application/json' \\\n      \
         -d '{{\"type\":\"invoice.paid\",\"data\":{{\"id\":\"inv_1\",\"amount\":4200}}}}'\n"
    );
    anstream::println!("  {BOLD}See its deliveries:{BOLD:#}\n");
    anstream::println!(
        "    curl 'http://{api}/v1/deliveries?limit=5' \\\n      -H 'X-API-Key: {key}'\n"
    );
    anstream::println!(
        "  {BOLD}Make the receiver fail once, and watch the retry 5 seconds later:{BOLD:#}\n"
    );
    anstream::println!(
        "    curl http://{}/control -d '{{\"mode\":\"fail\",\"count\":1}}'\n",
        stage.receiver.address
    );
    anstream::println!("  {BOLD}Deliver events to your own application:{BOLD:#}\n");
    anstream::println!(
        "    curl http://{api}/v1/webhooks \\\n      \
         -H 'X-API-Key: {key}' \\\n      \
         -H 'Content-Type: application/json' \\\n      \
         -d '{{\"url\":\"http://127.0.0.1:8080/hooks\",\"events\":[\"*\"]}}'\n"
    );
    anstream::println!("  {BOLD}Receive a signed webhook from a partner:{BOLD:#}\n");
    anstream::println!(
        "    curl http://{}/webhooks/_simulate \\\n      \
         -H 'Content-Type: application/json' \\\n      \
         -d '{{\"partner\":\"{PARTNER}\"}}'\n",
        stage.ingest
    );
    anstream::println!("  {BOLD}Send an e-mail, and get its outcome by webhook:{BOLD:#}\n");
    anstream::println!(
        "    curl http://{api}/v1/email/send \\\n      \
         -H 'X-API-Key: {key}' \\\n      \
         -H 'Content-Type: application/json' \\\n      \
         -d '{{\"from\":\"shop@example.com\",\"to\":\"ana@example.com\",\"subject\":\"Ola\",\"text\":\"Bem-vinda!\"}}'\n"
    );
    anstream::println!("  API documentation: {BLUE}http://{api}/docs{BLUE:#}\n");
}

pub fn keys() {
    let key = |letter: &str, what: &str| anstream::println!("    {BOLD}{letter}{BOLD:#}  {what}");
    anstream::println!("  Type a letter and press Enter:");
    key("p", "publish another event");
    key("f", "publish an event that fails once and is retried after 5 seconds");
    key("d", "receiver down: respond 500 to everything");
    key("s", "receiver slow: respond after 3 seconds");
    key("o", "receiver back to normal");
    key("i", "show delivery counters");
    key("q", "quit (or press Ctrl-C)");
    anstream::println!();
}

pub fn mode(mode: Mode) {
    let text = match mode {
        Mode::Ok => "now responds 200",
        Mode::Fail => "now responds 500",
        Mode::Slow => "now takes 3 seconds to respond",
    };
    anstream::println!("    {DIM}the receiver {text}{DIM:#}");
}

pub fn figures(stage: &Stage) {
    let Some(stats) = stage.gateway.engine.stats(Lane::Webhook) else { return };
    for (name, count) in [
        ("attempts", stats.carried),
        ("delivered", stats.delivered),
        ("retries scheduled", stats.retried),
        ("dead letters", stats.dead),
        ("in flight", stats.in_flight),
    ] {
        anstream::println!("    {DIM}{name:<18}{DIM:#} {count:>6}");
    }
}

pub fn gap() {
    anstream::println!();
}

pub fn closing(unfinished: usize, data_dir: &Path) {
    let folder = data_dir.display();
    match unfinished {
        0 => anstream::println!(
            "  Stopped; all in-flight deliveries finished. {DIM}Data directory: {folder}{DIM:#}"
        ),
        count => anstream::println!(
            "  Stopped; {count} in-flight deliveries did not finish and will be retried at the next start. {DIM}Data directory: {folder}{DIM:#}"
        ),
    }
}

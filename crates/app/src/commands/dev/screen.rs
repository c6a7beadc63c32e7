//! What `dev` shows: aligned, few colours, and the same words without a terminal.

use std::{path::Path, time::Duration};

use gancho_domain::Lane;
use gancho_outbound::Published;

use super::stage::{PARTNER, Stage};
use crate::{
    paint::{BLUE, BOLD, DIM, GREEN, RED, YELLOW},
    receiver::{Arrival, Mode},
};

/// Longer bodies are cut.
const WIDEST: usize = 160;

pub fn opening(stage: &Stage, asked_port: u16) {
    let version = env!("CARGO_PKG_VERSION");
    let api = stage.front.address;
    anstream::println!("\n  {BOLD}Gancho {version} is running.{BOLD:#}\n");
    let row = |name: &str, value: &str, note: &str| {
        anstream::println!("  {DIM}{name:<9}{DIM:#} {value:<36} {DIM}{note}{DIM:#}");
    };
    let base = format!("http://{api}");
    let note = if api.port() == asked_port {
        "documentation at /docs, metrics at /metrics".to_owned()
    } else {
        format!("port {asked_port} is taken, so it is {}", api.port())
    };
    row("API", &base, &note);
    row(
        "receiver",
        &format!("http://{}", stage.receiver.address),
        "built in: it checks every signature",
    );
    row("tenant", &stage.tenant.slug, &stage.tenant.id.to_string());
    row("endpoint", "to the receiver, every event", &stage.endpoint.to_string());
    row(
        "partner",
        &format!("http://{}/webhooks/{PARTNER}", stage.ingest),
        "its webhooks are handed to the receiver",
    );
    row("e-mail", "caught and shown, never sent", "look with `gancho emails`");
    row("data", &stage.data_dir, "kept between runs; delete it to begin anew");
    anstream::println!();
}

pub fn published(event: &Published) {
    anstream::println!(
        "  {BLUE}→{BLUE:#} {:<10} {}  {DIM}on stable storage{DIM:#}",
        "published",
        event.id
    );
}

pub fn arrived(arrival: &Arrival) {
    let body = String::from_utf8_lossy(&arrival.body);
    let (mark, paint, note) = match (arrival.refusal, arrival.answered) {
        (Some(why), _) => ("✗", RED, format!("not trusted: {why}")),
        (None, 200..300) => ("✓", GREEN, "signature verified, answered 200".to_owned()),
        (None, status) => (
            "✗",
            YELLOW,
            format!("signature verified, answered {status} as told: it is tried again"),
        ),
    };
    anstream::println!("  {paint}{mark}{paint:#} {:<10} {}  {note}", "arrived", arrival.id);
    let cut: String = body.chars().take(WIDEST).collect();
    let more = if cut.len() < body.len() { " …" } else { "" };
    anstream::println!("    {DIM}{cut}{more}{DIM:#}");
}

pub fn first(took: Duration) {
    anstream::println!("    {DIM}{} ms after the start{DIM:#}\n", took.as_millis());
}

/// Real commands: they can be copied as they stand.
pub fn next_steps(stage: &Stage) {
    let api = stage.front.address;
    let key = stage.api_key.reveal();
    anstream::println!("  {BOLD}Publish an event of your own:{BOLD:#}\n");
    anstream::println!(
        "    curl http://{api}/v1/events \\\n      \
         -H 'X-API-Key: {key}' \\\n      \
         -H 'Content-Type: application/json' \\\n      \
         -d '{{\"type\":\"invoice.paid\",\"data\":{{\"id\":\"inv_1\",\"amount\":4200}}}}'\n"
    );
    anstream::println!("  {BOLD}See what became of it:{BOLD:#}\n");
    anstream::println!(
        "    curl 'http://{api}/v1/deliveries?limit=5' \\\n      -H 'X-API-Key: {key}'\n"
    );
    anstream::println!(
        "  {BOLD}Let the receiver fail, and watch the retry 5 seconds later:{BOLD:#}\n"
    );
    anstream::println!(
        "    curl http://{}/control -d '{{\"mode\":\"fail\",\"count\":1}}'\n",
        stage.receiver.address
    );
    anstream::println!("  {BOLD}Send events to your own application:{BOLD:#}\n");
    anstream::println!(
        "    curl http://{api}/v1/webhooks \\\n      \
         -H 'X-API-Key: {key}' \\\n      \
         -H 'Content-Type: application/json' \\\n      \
         -d '{{\"url\":\"http://127.0.0.1:8080/hooks\",\"events\":[\"*\"]}}'\n"
    );
    anstream::println!("  {BOLD}Receive a signed webhook from the partner:{BOLD:#}\n");
    anstream::println!(
        "    curl http://{}/webhooks/_simulate \\\n      \
         -H 'Content-Type: application/json' \\\n      \
         -d '{{\"partner\":\"{PARTNER}\"}}'\n",
        stage.ingest
    );
    anstream::println!("  {BOLD}Send an e-mail, and hear by webhook that it was sent:{BOLD:#}\n");
    anstream::println!(
        "    curl http://{api}/v1/email/send \\\n      \
         -H 'X-API-Key: {key}' \\\n      \
         -H 'Content-Type: application/json' \\\n      \
         -d '{{\"from\":\"shop@example.com\",\"to\":\"ana@example.com\",\"subject\":\"Ola\",\"text\":\"Bem-vinda!\"}}'\n"
    );
    anstream::println!("  All calls are described at {BLUE}http://{api}/docs{BLUE:#}\n");
}

pub fn keys() {
    let key = |letter: &str, what: &str| anstream::println!("    {BOLD}{letter}{BOLD:#}  {what}");
    anstream::println!("  Here, type a letter and press Enter:");
    key("p", "publish another event");
    key("f", "publish one that the receiver refuses once: it is tried again 5 seconds later");
    key("d", "receiver down: refuse everything");
    key("s", "receiver slow: answer after 3 seconds");
    key("o", "receiver ok again");
    key("i", "what the gateway has done");
    key("q", "stop (so does Ctrl-C)");
    anstream::println!();
}

pub fn mode(mode: Mode) {
    let text = match mode {
        Mode::Ok => "answers 200 again",
        Mode::Fail => "answers 500 from now on",
        Mode::Slow => "takes 3 seconds to answer from now on",
    };
    anstream::println!("    {DIM}the receiver {text}{DIM:#}");
}

pub fn figures(stage: &Stage) {
    let Some(stats) = stage.gateway.engine.stats(Lane::Webhook) else { return };
    for (name, count) in [
        ("attempts", stats.carried),
        ("delivered", stats.delivered),
        ("to be tried again", stats.retried),
        ("given up", stats.dead),
        ("on the wire now", stats.in_flight),
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
            "  Stopped; nothing was left in the air. {DIM}The data is in {folder}.{DIM:#}"
        ),
        count => anstream::println!(
            "  Stopped; {count} deliveries were in the air and are made when it is started again. {DIM}The data is in {folder}.{DIM:#}"
        ),
    }
}

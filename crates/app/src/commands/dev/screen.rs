//! The output of `gancho dev`. The texts are the same without a terminal.

use std::{path::Path, time::Duration};

use gancho_domain::{Lane, State, Time};
use gancho_store::DeliveryRow;
use serde_json::Value;

use super::stage::{KEY_FILE, PARTNER, Stage};
use crate::{
    commands::table::{clean, text},
    paint::{BLUE, BOLD, DIM, GREEN, RED, YELLOW},
    receiver::{Mode, ReceivedWebhook},
    remote::RemoteError,
};

/// Longer bodies are truncated, so that each takes one line.
const MAX_WIDTH: usize = 74;
/// Maximum lines of an e-mail that are shown.
const MAX_LINES: usize = 6;

/// `is_staying` tells whether it runs on after the first event.
pub fn opening(stage: &Stage, asked_port: u16, is_staying: bool) {
    let version = env!("CARGO_PKG_VERSION");
    let api = stage.servers.address;
    anstream::println!("\n  {BOLD}Gancho {version} is running.{BOLD:#}\n");
    let row = |name: &str, value: &str, note: &str| {
        anstream::println!("  {DIM}{name:<10}{DIM:#} {value:<30}  {DIM}{note}{DIM:#}");
    };
    let base = format!("http://{api}");
    let note = if [0, api.port()].contains(&asked_port) {
        "docs at /docs, metrics at /metrics".to_owned()
    } else {
        format!("port {asked_port} is in use")
    };
    row("API", &base, &note);
    match &stage.login_link {
        // It would be gone before anyone can open it.
        _ if !is_staying => {}
        Some(link) => row("dashboard", link, "opens once"),
        None => row("dashboard", &format!("{base}/ui/"), "the token is in admin.token"),
    }
    row("receiver", &format!("http://{}", stage.receiver.address), "verifies every signature");
    let partner = format!("http://{}/webhooks/{PARTNER}", stage.ingest);
    row("partner", &partner, "forwarded to the receiver");
    row("data", &stage.data_dir, "kept between runs");
    anstream::println!();
}

/// Shows that an event was stored.
pub fn accepted(row: &DeliveryRow) {
    let (word, id) = match row.lane {
        Lane::Webhook => ("published", format!("{}, ", row.event)),
        Lane::Dispatch => ("received", format!("{}, ", row.event)),
        Lane::Email => ("accepted", String::new()),
    };
    let what = &row.event_type;
    anstream::println!("  {BLUE}→{BLUE:#} {word:<10} {what}  {DIM}{id}stored and fsynced{DIM:#}");
}

/// Who got a delivery.
pub enum Receiver {
    BuiltIn,
    Mailbox,
    /// An endpoint that was added, by its URL.
    Own(String),
}

/// How an attempt, or a delivery without one, ended.
pub struct Outcome<'a> {
    pub row: &'a DeliveryRow,
    pub latency: Option<Duration>,
    pub at: Time,
    pub receiver: Receiver,
    pub arrival: Option<ReceivedWebhook>,
}

pub fn outcome(outcome: &Outcome) {
    let row = outcome.row;
    let (mark, paint, word) = match row.state {
        State::Delivered => ("✓", GREEN, "delivered"),
        State::Dead => ("✗", RED, "gave up"),
        State::Pending | State::Leased | State::Waiting => ("✗", YELLOW, "failed"),
    };
    let mut parts = Vec::new();
    if let Some(latency) = outcome.latency {
        let how = match (row.response_status, &row.last_failure) {
            (Some(status), _) => status.to_string(),
            (None, Some(failure)) => failure.code().to_string(),
            (None, None) => "no response".to_owned(),
        };
        parts.push(format!("attempt {}: {how} in {}", row.attempts, milliseconds(latency)));
    }
    match (&outcome.receiver, row.state) {
        (Receiver::BuiltIn, State::Delivered) => parts.push("signature verified".to_owned()),
        (_, State::Dead) => parts.push("now a dead letter".to_owned()),
        _ => {}
    }
    if let Some(why) = outcome.arrival.as_ref().and_then(|arrival| arrival.refusal) {
        parts.push(format!("signature rejected: {why}"));
    }
    if let Some(at) = row.next_retry_at {
        parts.push(format!("retry in {} s", at.since(outcome.at).as_secs_f64().round()));
    }
    let how = parts.join(", ");
    anstream::println!("  {paint}{mark}{paint:#} {word:<10} {}  {how}", row.event_type);
    if let Receiver::Own(url) = &outcome.receiver {
        detail(&format!("at {url}"));
    }
    if let Some(arrival) = &outcome.arrival {
        detail(&String::from_utf8_lossy(&arrival.body));
    }
}

fn milliseconds(latency: Duration) -> String {
    let exact = latency.as_secs_f64() * 1_000.0;
    if exact < 10.0 { format!("{exact:.1} ms") } else { format!("{exact:.0} ms") }
}

/// Shows a captured e-mail.
pub fn email(email: &Value) {
    for (name, value) in
        [("From", &email["from"]), ("To", &email["to"]), ("Subject", &email["subject"])]
    {
        detail(&format!("{name}: {}", text(value)));
    }
    let raw = text(&email["raw"]);
    let body = raw.replace("\r\n", "\n");
    let body = body.split_once("\n\n").map_or("", |(_, body)| body);
    body.lines().filter(|line| !line.is_empty()).take(MAX_LINES).for_each(detail);
}

fn detail(line: &str) {
    let line = clean(line);
    let cut: String = line.chars().take(MAX_WIDTH).collect();
    let more = if cut.len() < line.len() { "…" } else { "" };
    anstream::println!("    {DIM}{cut}{more}{DIM:#}");
}

/// Shows a rejected webhook of the partner.
pub fn rejected(rejection: &Value) {
    let (status, reason) = (&rejection["status"], text(&rejection["reason"]));
    anstream::println!(
        "  {RED}✗{RED:#} {:<10} {PARTNER}'s webhook: {status}, {reason}",
        "rejected"
    );
    if let Some(why) = rejection["detail"].as_str() {
        detail(why);
    }
}

pub fn refused(error: &RemoteError) {
    anstream::println!("  {RED}✗{RED:#} {error}");
}

pub fn first(took: Duration) {
    anstream::println!("    {DIM}first delivery {} ms after startup{DIM:#}\n", took.as_millis());
}

/// Prints commands that can be copied and run unchanged.
pub fn next_steps(stage: &Stage) {
    let program = program();
    anstream::println!("  {BOLD}In another terminal, in the same directory:{BOLD:#}\n");
    anstream::println!("    export GANCHO_URL=http://{}", stage.servers.address);
    anstream::println!(
        "    export GANCHO_API_KEY=$(cat {})",
        quoted(&format!("{}/{KEY_FILE}", stage.data_dir))
    );
    anstream::println!("    {program} publish invoice.paid '{{\"id\":\"inv_1\",\"amount\":4200}}'");
    anstream::println!("    {program} deliveries list\n");
}

/// Quotes a path for a shell.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,".contains(c);
    if path.chars().all(is_plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

/// Shows another link to the dashboard.
pub fn login_link(link: Option<&str>) {
    if let Some(link) = link {
        anstream::println!("    {DIM}dashboard{DIM:#}  {link}  {DIM}opens once{DIM:#}");
    }
}

/// Returns how this program was started, for commands that people copy.
fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "gancho".to_owned())
}

pub fn keys(is_terminal: bool) {
    let how = if is_terminal { "Press" } else { "Type a letter and press Enter:" };
    let keys = [
        ("p", "publish"),
        ("f", "fail once"),
        ("w", "partner's webhook"),
        ("e", "e-mail"),
        ("?", "help"),
        ("q", "quit"),
    ];
    let keys = keys.map(|(key, what)| format!("{BOLD}{key}{BOLD:#} {what}"));
    anstream::println!("  {how}  {}\n", keys.join("  "));
}

pub fn help(stage: &Stage) {
    let key = |letter: &str, what: &str| anstream::println!("    {BOLD}{letter}{BOLD:#}  {what}");
    anstream::println!();
    key("p", "publish an event");
    key("f", "publish an event that fails once and is retried after 5 seconds");
    key("w", "receive a signed webhook from a partner, and forward it to the receiver");
    key("e", "send an e-mail: it is captured, and its outcome comes by webhook");
    key("d", "receiver down: respond 500 to everything");
    key("s", "receiver slow: respond after 3 seconds");
    key("o", "receiver back to normal");
    key("i", "show delivery counters");
    key("l", "print another link to the dashboard: each opens once");
    key("q", "quit (or press Ctrl-C)");
    let (program, api) = (program(), stage.servers.address);
    anstream::println!("\n  {BOLD}Deliver events to your own application:{BOLD:#}\n");
    anstream::println!("    {program} endpoints create http://127.0.0.1:8080/hooks\n");
    anstream::println!("  {BOLD}The same with curl:{BOLD:#}\n");
    anstream::println!(
        "    curl $GANCHO_URL/v1/events -H \"X-API-Key: $GANCHO_API_KEY\" \\\n      \
         --json '{{\"type\":\"invoice.paid\",\"data\":{{\"id\":\"inv_1\"}}}}'\n"
    );
    anstream::println!("  API documentation: {BLUE}http://{api}/docs{BLUE:#}\n");
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

//! Sends notices as chat messages and e-mails, to the operator and to the addresses of the tenant that they
//! are about. Notices within a short time are combined into one message, so that a flood is a digest. Tenants share
//! all of it: [`pending`] has the notices of the last seconds, [`backlog`] the messages that are not sent yet.

mod backlog;
mod pending;
#[cfg(test)]
mod tests;

use std::{
    fmt::Write,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use gancho_domain::{TenantId, TenantScope};
use gancho_mail::Mailbox;
use gancho_outbound::notify::{NOTICE_EMAILS, Notice, NoticeSink};
use gancho_store::{Collection, Store};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use self::{
    backlog::{Backlog, NoticeOwner, OutgoingNotice, Recipient},
    pending::{CollectedNotices, MAX_LINES, PendingNotices},
};
use super::channels::{EmailChannel, SlackChannel};

/// How long notices are collected.
const WINDOW: Duration = Duration::from_secs(5);
/// Maximum addresses of a tenant.
const MAX_ADDRESSES: usize = 20;
/// How long the store may take to return them.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Default)]
pub struct NoticeMessenger(Mutex<PendingNotices>);

impl NoticeSink for NoticeMessenger {
    fn take(&self, tenant: TenantId, notice: &Notice) {
        let mut hasher = DefaultHasher::new();
        (notice.event_type, tenant, &notice.data).hash(&mut hasher);
        self.0.lock().add(tenant, hasher.finish(), || line(notice));
    }
}

/// Returns one sentence, without the payload of the event.
fn line(notice: &Notice) -> String {
    let data: Value = serde_json::from_slice(&notice.data).unwrap_or_default();
    let text = |name: &str| data[name].as_str().unwrap_or("?").to_owned();
    let url = text("url");
    match notice.event_type {
        "webhook.endpoint.disabled" => {
            let missed = &data["missed"];
            let about = if missed["is_exact"] == true { "" } else { "at least " };
            format!(
                "endpoint {} ({url}) was disabled ({}); {about}{} deliveries were missed since {}",
                text("webhook_id"),
                text("reason"),
                missed["failed_deliveries"],
                missed["since"].as_str().unwrap_or("?"),
            )
        }
        "webhook.endpoint.failing" => format!(
            "endpoint {} ({url}) keeps failing ({}) and is disabled at {}",
            text("webhook_id"),
            text("last_failure_code"),
            text("disabled_at"),
        ),
        _ if data["is_digest"] == true => {
            let about = if data["is_exact"] == true { "" } else { "at least " };
            format!(
                "{about}{} deliveries to {} ({url}) became dead letters: {}",
                data["failed_deliveries"],
                text("webhook_id"),
                counts(&data["by_failure_code"]),
            )
        }
        _ => format!(
            "delivery {} of {} to {} ({url}) became a dead letter after {}: {}",
            text("delivery_id"),
            text("event_id"),
            text("webhook_id"),
            attempts(&data["failed_attempts"]),
            text("last_failure_code"),
        ),
    }
}

fn attempts(count: &Value) -> String {
    if count == 1 { "1 attempt".to_owned() } else { format!("{count} attempts") }
}

/// Returns text such as `3 × HTTP_503, 1 × TIMEOUT`.
fn counts(by_code: &Value) -> String {
    let each = by_code.as_object().into_iter().flatten();
    each.map(|(code, count)| format!("{count} × {code}")).collect::<Vec<_>>().join(", ")
}

/// The destinations of the messages.
pub struct NoticeRoutes {
    pub store: Arc<dyn Store>,
    pub slack: Option<SlackChannel>,
    pub email: Option<EmailChannel>,
    pub operator: Vec<Mailbox>,
}

/// Returns the collection of a tenant's addresses, which its operator sets.
pub fn addresses_of(scope: TenantScope) -> Collection {
    Collection::of(scope, NOTICE_EMAILS)
}

/// The end of an attempt to send a message.
struct SendOutcome {
    message: OutgoingNotice,
    took: Duration,
    /// The addresses of the tenant, if they had to be read.
    result: Result<Vec<Mailbox>, String>,
}

impl NoticeMessenger {
    /// Sends until it is stopped; then sends what is due, and ends.
    pub async fn run(&self, routes: NoticeRoutes, stop: CancellationToken) {
        let (mut backlog, mut sending) = (Backlog::default(), FuturesUnordered::new());
        let (mut window_end, mut is_last) = (Instant::now() + WINDOW, false);
        loop {
            while let Some(message) = backlog.next(Instant::now()) {
                sending.push(attempt(&routes, message));
            }
            if is_last && sending.is_empty() {
                let count = backlog.len();
                if count > 0 {
                    tracing::warn!(count, "stopping; some notices were not sent");
                }
                return;
            }
            tokio::select! {
                biased;
                Some(outcome) = sending.next() => note(&mut backlog, outcome),
                () = stop.cancelled(), if !is_last => {
                    is_last = true;
                    add(&mut backlog, messages(&routes, &self.0.lock().take()));
                }
                () = sleep_until(window_end), if !is_last => {
                    window_end = Instant::now() + WINDOW;
                    backlog.forget_idle();
                    add(&mut backlog, messages(&routes, &self.0.lock().take()));
                }
            }
        }
    }
}

fn add(backlog: &mut Backlog, messages: Vec<OutgoingNotice>) {
    let given_up = backlog.add(messages);
    if given_up > 0 {
        tracing::warn!(count = given_up, "too many unsent notices; gave up the oldest");
    }
}

fn note(backlog: &mut Backlog, outcome: SendOutcome) {
    let SendOutcome { message, took, result } = outcome;
    backlog.end(message.owner, took, result.is_err());
    match result {
        Ok(addresses) => {
            let OutgoingNotice { owner, title, text, .. } = message;
            let to = |to| OutgoingNotice::new(owner, Recipient::Address(to), &title, &text);
            add(backlog, addresses.into_iter().map(to).collect());
        }
        Err(error) => {
            let attempt = message.attempts + 1;
            let is_given_up = !backlog.put_back(message, Instant::now());
            tracing::warn!(error, attempt, is_given_up, "could not send notices");
        }
    }
}

fn messages(routes: &NoticeRoutes, collected: &CollectedNotices) -> Vec<OutgoingNotice> {
    let mut all = Vec::new();
    if collected.is_empty() {
        return all;
    }
    let (title, text) = digest(&collected.lines(), collected.count());
    if routes.slack.is_some() {
        all.push(OutgoingNotice::new(NoticeOwner::Chat, Recipient::Chat, &title, &text));
    }
    if routes.email.is_none() {
        return all;
    }
    for to in &routes.operator {
        let to = Recipient::Address(to.clone());
        all.push(OutgoingNotice::new(NoticeOwner::Operator, to, &title, &text));
    }
    for (tenant, own) in &collected.tenants {
        let lines: Vec<&str> = own.lines.iter().map(String::as_str).collect();
        let (title, text) = digest(&lines, own.count);
        let (owner, to) = (NoticeOwner::Tenant(*tenant), Recipient::TenantAddresses(*tenant));
        all.push(OutgoingNotice::new(owner, to, &title, &text));
    }
    all
}

/// Returns the title and the text of a message about `count` notices, of which there are lines for the first.
fn digest(lines: &[&str], count: u64) -> (Arc<str>, Arc<str>) {
    let title = match lines {
        [one] if count == 1 => format!("Gancho: {one}"),
        _ => format!("Gancho: {count} notices about webhooks"),
    };
    let mut text = String::new();
    for line in lines.iter().take(MAX_LINES) {
        let _ = writeln!(text, "- {line}");
    }
    let more = count.saturating_sub(MAX_LINES.min(lines.len()) as u64);
    if more > 0 {
        let _ = writeln!(text, "and {more} more");
    }
    (title.into(), text.into())
}

async fn attempt(routes: &NoticeRoutes, message: OutgoingNotice) -> SendOutcome {
    let start = Instant::now();
    let result = match &message.to {
        Recipient::TenantAddresses(tenant) => addresses(routes, *tenant).await,
        to => send(routes, to, &message).await.map(|()| Vec::new()),
    };
    SendOutcome { message, took: start.elapsed(), result }
}

async fn addresses(routes: &NoticeRoutes, tenant: TenantId) -> Result<Vec<Mailbox>, String> {
    let collection = addresses_of(TenantScope::internal(tenant));
    let read = routes.store.documents(collection, None, MAX_ADDRESSES);
    let found = timeout(READ_TIMEOUT, read).await.map_err(|_| "the store does not respond")?;
    let found = found.map_err(|error| error.to_string())?;
    Ok(found.iter().filter_map(|document| document.key.parse().ok()).collect())
}

async fn send(
    routes: &NoticeRoutes,
    to: &Recipient,
    message: &OutgoingNotice,
) -> Result<(), String> {
    match (to, &routes.slack, &routes.email) {
        (Recipient::Chat, Some(slack), _) => {
            let escape =
                |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let text = format!("*{}*\n{}", escape(&message.title), escape(&message.text));
            slack.send_json(&json!({ "text": text })).await
        }
        (Recipient::Address(to), _, Some(email)) => {
            email.send_to(to, &message.title, &message.text).await
        }
        _ => Ok(()),
    }
}

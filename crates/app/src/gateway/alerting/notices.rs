//! Sends notices as chat messages and e-mails, to the operator and to the addresses of the tenant that they
//! are about. Notices within a short time are combined into one message, so that a flood is a digest.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    fmt::Write,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use gancho_alerts::retry_delay;
use gancho_domain::{TenantId, TenantScope};
use gancho_mail::Mailbox;
use gancho_outbound::notify::{NOTICE_EMAILS, Notice, NoticeSink};
use gancho_store::{Collection, Store};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::channels::{EmailChannel, SlackChannel};

/// How long notices are collected.
const WINDOW: Duration = Duration::from_secs(5);
/// Maximum lines of a message; the rest is counted.
const MAX_LINES: usize = 20;
/// Maximum notices in memory. Beyond it they are only counted.
const MAX_GATHERED: usize = 1_000;
/// Maximum notices that are remembered, so that none is sent twice.
const MAX_KNOWN: usize = 4_096;
/// Maximum messages that wait for a retry. Beyond it the oldest are dropped.
const MAX_UNSENT: usize = 200;

#[derive(Default)]
pub struct NoticeMessenger(Mutex<PendingNotices>);

#[derive(Default)]
struct PendingNotices {
    lines: Vec<(TenantId, String)>,
    /// How many were dropped because there were too many.
    dropped: u64,
    known: HashSet<u64>,
    order: VecDeque<u64>,
}

impl NoticeSink for NoticeMessenger {
    fn take(&self, tenant: TenantId, notice: &Notice) {
        let mut hasher = DefaultHasher::new();
        (notice.event_type, tenant, &notice.data).hash(&mut hasher);
        let key = hasher.finish();
        let mut gathered = self.0.lock();
        if !gathered.known.insert(key) {
            return;
        }
        gathered.order.push_back(key);
        if gathered.order.len() > MAX_KNOWN
            && let Some(old) = gathered.order.pop_front()
        {
            gathered.known.remove(&old);
        }
        if gathered.lines.len() >= MAX_GATHERED {
            gathered.dropped += 1;
        } else {
            gathered.lines.push((tenant, line(notice)));
        }
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

struct OutgoingNotice {
    /// `None`: Slack.
    to: Option<Mailbox>,
    title: String,
    text: String,
    attempts: u32,
    due: Instant,
}

/// Messages that were not sent yet.
#[derive(Default)]
struct Backlog(VecDeque<OutgoingNotice>);

impl Backlog {
    /// Adds messages. Returns how many were dropped to make room.
    fn add(&mut self, messages: Vec<OutgoingNotice>) -> usize {
        self.0.extend(messages);
        let too_many = self.0.len().saturating_sub(MAX_UNSENT);
        self.0.drain(..too_many).count()
    }

    fn take_due(&mut self, now: Instant) -> VecDeque<OutgoingNotice> {
        let (due, later) = self.0.drain(..).partition(|message| message.due <= now);
        self.0 = later;
        due
    }

    /// Queues a message again after a failed attempt, with growing waits for about an hour, as with alerts.
    /// Returns whether it is retried.
    fn put_back(&mut self, mut message: OutgoingNotice, now: Instant) -> bool {
        let Some(delay) = retry_delay(message.attempts) else { return false };
        message.due = now + delay;
        self.0.push_back(message);
        true
    }
}

impl NoticeMessenger {
    pub async fn run(&self, routes: NoticeRoutes, stop: CancellationToken) {
        let mut backlog = Backlog::default();
        loop {
            let is_last = tokio::time::timeout(WINDOW, stop.cancelled()).await.is_ok();
            let (lines, dropped) = {
                let mut gathered = self.0.lock();
                (std::mem::take(&mut gathered.lines), std::mem::take(&mut gathered.dropped))
            };
            if !lines.is_empty() {
                let given_up = backlog.add(messages(&routes, &lines, dropped).await);
                if given_up > 0 {
                    tracing::warn!(count = given_up, "too many unsent notices; gave up the oldest");
                }
            }
            for mut message in backlog.take_due(Instant::now()) {
                if let Err(error) = send(&routes, &message).await {
                    message.attempts += 1;
                    let attempt = message.attempts;
                    let is_given_up = !backlog.put_back(message, Instant::now());
                    tracing::warn!(error, attempt, is_given_up, "could not send notices");
                }
            }
            if is_last {
                let count = backlog.0.len();
                if count > 0 {
                    tracing::warn!(count, "stopping; some notices were not sent");
                }
                return;
            }
        }
    }
}

async fn messages(
    routes: &NoticeRoutes,
    lines: &[(TenantId, String)],
    dropped: u64,
) -> Vec<OutgoingNotice> {
    let mut all = Vec::new();
    let operators: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
    let (title, text) = digest(&operators, dropped);
    let own = |to: Option<Mailbox>| OutgoingNotice {
        to,
        title: title.clone(),
        text: text.clone(),
        attempts: 0,
        due: Instant::now(),
    };
    if routes.slack.is_some() {
        all.push(own(None));
    }
    if routes.email.is_none() {
        return all;
    }
    all.extend(routes.operator.iter().cloned().map(|to| own(Some(to))));
    let mut by_tenant: BTreeMap<TenantId, Vec<&str>> = BTreeMap::new();
    for (tenant, line) in lines {
        by_tenant.entry(*tenant).or_default().push(line);
    }
    for (tenant, lines) in by_tenant {
        let found = routes.store.documents(addresses_of(TenantScope::internal(tenant)), None, 20);
        // Without the addresses the tenant still has its endpoints for notices.
        let found = found.await.unwrap_or_default();
        let (title, text) = digest(&lines, 0);
        let addresses = found.iter().filter_map(|document| document.key.parse().ok());
        all.extend(addresses.map(|to| OutgoingNotice {
            to: Some(to),
            title: title.clone(),
            text: text.clone(),
            attempts: 0,
            due: Instant::now(),
        }));
    }
    all
}

fn digest(lines: &[&str], dropped: u64) -> (String, String) {
    let count = lines.len() as u64 + dropped;
    let title = match lines {
        [one] if dropped == 0 => format!("Gancho: {one}"),
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
    (title, text)
}

async fn send(routes: &NoticeRoutes, message: &OutgoingNotice) -> Result<(), String> {
    match (&message.to, &routes.slack, &routes.email) {
        (None, Some(slack), _) => {
            let escape =
                |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let text = format!("*{}*\n{}", escape(&message.title), escape(&message.text));
            slack.send_json(&json!({ "text": text })).await
        }
        (Some(to), _, Some(email)) => email.send_to(to, &message.title, &message.text).await,
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use gancho_domain::EndpointId;

    use super::*;

    fn notice(number: u32) -> Notice {
        let data = json!({
            "is_digest": false,
            "delivery_id": format!("dlv_{number}"),
            "event_id": "evt_1",
            "webhook_id": "wh_1",
            "url": "https://example.com/hook",
            "failed_attempts": 6,
            "last_failure_code": "HTTP_500",
        });
        let data = Bytes::from(data.to_string());
        Notice { event_type: "webhook.delivery.exhausted", data, about: EndpointId::from_bits(1) }
    }

    #[test]
    fn a_flood_is_one_digest_and_nothing_is_counted_twice() {
        let messenger = NoticeMessenger::default();
        let tenant = TenantId::from_bits(7);
        for number in 0..1_500 {
            messenger.take(tenant, &notice(number));
            messenger.take(tenant, &notice(number));
        }
        let gathered = messenger.0.lock();
        assert_eq!((gathered.lines.len(), gathered.dropped), (1_000, 500));
        let lines: Vec<&str> = gathered.lines.iter().map(|(_, line)| line.as_str()).collect();
        let (title, text) = digest(&lines, gathered.dropped);
        assert_eq!(title, "Gancho: 1500 notices about webhooks");
        assert!(text.ends_with("and 1480 more\n"), "{text}");
        assert!(text.contains("dlv_0 of evt_1 to wh_1 (https://example.com/hook)"), "{text}");
    }

    fn outgoing(number: usize) -> OutgoingNotice {
        let (to, title) = (None, number.to_string());
        OutgoingNotice { to, title, text: String::new(), attempts: 0, due: Instant::now() }
    }

    #[test]
    fn a_message_outlives_a_restart_of_the_mail_server() {
        let mut backlog = Backlog::default();
        backlog.add(vec![outgoing(1)]);
        let start = Instant::now();
        let (mut now, mut attempts) = (start, 0);
        loop {
            for mut message in backlog.take_due(now) {
                attempts += 1;
                message.attempts += 1;
                if !backlog.put_back(message, now) {
                    assert!(now - start > Duration::from_mins(40), "{:?}", now - start);
                    assert_eq!(attempts, 10);
                    return;
                }
            }
            now += WINDOW;
        }
    }

    #[test]
    fn what_waits_to_be_sent_is_bounded() {
        let mut backlog = Backlog::default();
        assert_eq!(backlog.add((0..150).map(outgoing).collect()), 0);
        assert_eq!(backlog.add((150..250).map(outgoing).collect()), 50);
        let due = backlog.take_due(Instant::now());
        assert_eq!((due.len(), due[0].title.as_str()), (200, "50"));
    }
}

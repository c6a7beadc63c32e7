//! The destinations of alerts. None of them needs the store to send, because a full or unavailable store is
//! one of the things they report.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use gancho_alerts::{Channel, EVENT_TYPE, Message, MessageId};
use gancho_domain::{Clock, IdMaker, TenantId, mask};
use gancho_egress::{Client, Outcome};
use gancho_engine::Preemption;
use gancho_mail::{
    Email, Mailbox, OutgoingMessage, Transport,
    message::{self, MessageMetadata},
};
use gancho_outbound::{Registry, registry::Targets};
use gancho_wire::{AttemptMetadata, Content};
use http::{HeaderMap, HeaderValue, header};
use parking_lot::Mutex;
use serde_json::Value;
use url::Url;

const TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum recipients of a channel that get a message at once.
const MAX_AT_ONCE: usize = 8;
/// Maximum recipients that are remembered, so that they do not get a message again when another one failed.
const MAX_ACCEPTED: usize = 1_000;

/// The recipients that have accepted a message which another recipient of the channel has not.
#[derive(Default)]
pub struct AcceptedParts(Mutex<VecDeque<(MessageId, String)>>);

impl AcceptedParts {
    /// Sends a message to all recipients that do not have it, side by side. Returns the first error.
    async fn send_to_all(
        &self,
        id: MessageId,
        recipients: Vec<(String, BoxFuture<'_, Result<(), String>>)>,
    ) -> Result<(), String> {
        let mut sending = Vec::new();
        for (name, send) in recipients {
            if !self.has(id, &name) {
                sending.push(async move { (name, send.await) }.boxed());
            }
        }
        let mut sending = stream::iter(sending).buffer_unordered(MAX_AT_ONCE);
        let mut result = Ok(());
        while let Some((name, sent)) = sending.next().await {
            match sent {
                Ok(()) => self.add(id, name),
                Err(error) => result = result.and(Err(error)),
            }
        }
        result
    }

    fn has(&self, id: MessageId, name: &str) -> bool {
        self.0.lock().iter().any(|(accepted, by)| *accepted == id && by == name)
    }

    fn add(&self, id: MessageId, name: String) {
        let mut accepted = self.0.lock();
        accepted.push_back((id, name));
        if accepted.len() > MAX_ACCEPTED {
            accepted.pop_front();
        }
    }
}

/// The operator's endpoints that subscribe to the notice `webhook.alert`: `notify_url` is one of them.
pub struct UrlChannel {
    pub operator: TenantId,
    pub registry: Arc<Registry>,
    pub client: Client,
    pub clock: Arc<dyn Clock>,
    /// The operator's endpoints as they were last read.
    pub targets: Mutex<Option<Arc<Targets>>>,
    pub accepted: AcceptedParts,
}

#[async_trait]
impl Channel for UrlChannel {
    fn name(&self) -> &'static str {
        "url"
    }

    async fn refresh(&self) {
        // If the store does not respond, the previous ones stay.
        if let Ok(read) = self.registry.of(self.operator).await {
            *self.targets.lock() = Some(read);
        }
    }

    async fn send(&self, message: &Message) -> Result<(), String> {
        let last_read = self.targets.lock().clone();
        let targets = match last_read {
            Some(targets) => targets,
            None => self.registry.of(self.operator).await.map_err(|error| error.to_string())?,
        };
        let data = message.json().to_string();
        let id = message.id.to_string();
        let wanting = targets.all.iter().filter(|target| target.endpoint.wants(EVENT_TYPE));
        let mut recipients = Vec::new();
        for target in wanting {
            let content = Content {
                event_id: &id,
                event_type: EVENT_TYPE,
                created_at: message.at,
                number: None,
                data: data.as_bytes(),
            };
            let body = target.profile.envelope.render(&content);
            let sending = AttemptMetadata {
                event_id: &id,
                endpoint_id: &target.id,
                event_type: EVENT_TYPE,
                at: self.clock.now(),
                retry: 0,
            };
            let headers = target.signed_headers(&sending, &body);
            let send = async move {
                accepted(self.client.post(&target.url, headers?, body, TIMEOUT).await)
            };
            recipients.push((target.id.to_string(), send.boxed()));
        }
        self.accepted.send_to_all(message.id, recipients).await
    }
}

/// A Slack incoming webhook, or a service with the same format.
#[derive(Clone)]
pub struct SlackChannel {
    pub url: Url,
    pub client: Client,
}

#[async_trait]
impl Channel for SlackChannel {
    fn name(&self) -> &'static str {
        "slack"
    }

    async fn send(&self, message: &Message) -> Result<(), String> {
        self.send_json(&message.slack()).await
    }
}

impl SlackChannel {
    pub async fn send_json(&self, body: &Value) -> Result<(), String> {
        let json = HeaderValue::from_static("application/json");
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, json)]);
        let body = Bytes::from(body.to_string());
        accepted(self.client.post(&self.url, headers, body, TIMEOUT).await)
    }
}

fn accepted(outcome: Outcome) -> Result<(), String> {
    match outcome.answer {
        Ok(answer) if (200..300).contains(&answer.status) => Ok(()),
        Ok(answer) => Err(format!("the server responded {}", answer.status)),
        Err(error) => Err(error.failure.reason().to_owned()),
    }
}

/// Sends directly to the mail server, one e-mail for each address. Its clones share what was accepted.
#[derive(Clone)]
pub struct EmailChannel {
    pub transport: Arc<dyn Transport>,
    pub from: Mailbox,
    pub to: Vec<Mailbox>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
    pub operator: Option<TenantId>,
    pub accepted: Arc<AcceptedParts>,
}

#[async_trait]
impl Channel for EmailChannel {
    fn name(&self) -> &'static str {
        "email"
    }

    async fn send(&self, message: &Message) -> Result<(), String> {
        let (title, text) = (&*message.title(), &*message.text());
        let send = |to| self.send_to(to, title, text).boxed();
        let recipients = self.to.iter().map(|to| (to.address(), send(to))).collect();
        self.accepted.send_to_all(message.id, recipients).await
    }
}

impl EmailChannel {
    pub async fn send_to(&self, to: &Mailbox, subject: &str, text: &str) -> Result<(), String> {
        let email = Email {
            company_id: "operator".to_owned(),
            to: to.clone(),
            from: self.from.clone(),
            reply_to: None,
            subject: subject.to_owned(),
            text: Some(text.to_owned()),
            html: None,
            headers: vec![("Auto-Submitted".to_owned(), "auto-generated".to_owned())],
            attachments: Vec::new(),
        };
        let tenant = self.operator.unwrap_or(TenantId::from_bits(0));
        let (id, domain) = (self.ids.make(), self.from.domain().to_owned());
        let stamp = MessageMetadata { id, tenant, accepted_at: self.clock.now() };
        let outgoing = OutgoingMessage {
            id,
            tenant,
            raw: message::write(&email, stamp, &domain)?,
            message_id: message::message_id(id, &domain),
            from: email.from,
            to: email.to,
            subject: email.subject,
        };
        let sent = self.transport.send(&outgoing, &Preemption::default()).await;
        sent.map_err(|error| mask::text(&gancho_mail::classify::classify(&error).reason))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::atomic::{AtomicU32, Ordering},
    };

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_recipient_that_hangs_keeps_the_message_from_no_other() {
        let (accepted, id) = (AcceptedParts::default(), MessageId::from_bits(1));
        let sent = AtomicU32::new(0);
        for _ in 0..3 {
            let hangs = async {
                let _ = tokio::time::timeout(TIMEOUT, pending::<()>()).await;
                Err("timed out".to_owned())
            };
            let accepts = async {
                sent.fetch_add(1, Ordering::Relaxed);
                Ok(())
            };
            let recipients =
                vec![("a".to_owned(), hangs.boxed()), ("b".to_owned(), accepts.boxed())];
            assert_eq!(accepted.send_to_all(id, recipients).await, Err("timed out".to_owned()));
        }
        assert_eq!(sent.load(Ordering::Relaxed), 1, "it arrives, and once");
    }
}

//! The destinations of alerts. None of them needs the store to send, because a full or unavailable store is
//! one of the things they report.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use gancho_alerts::{Channel, EVENT_TYPE, Message};
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

/// The operator's endpoints that subscribe to the notice `webhook.alert`: `notify_url` is one of them.
pub struct UrlChannel {
    pub operator: TenantId,
    pub registry: Arc<Registry>,
    pub client: Client,
    pub clock: Arc<dyn Clock>,
    /// The operator's endpoints as they were last read.
    pub targets: Mutex<Option<Arc<Targets>>>,
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
        for target in &targets.all {
            if !target.endpoint.wants(EVENT_TYPE) {
                continue;
            }
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
            let headers = target.signed_headers(&sending, &body)?;
            accepted(self.client.post(&target.url, headers, body, TIMEOUT).await)?;
        }
        Ok(())
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

/// Sends directly to the mail server, one e-mail for each address.
#[derive(Clone)]
pub struct EmailChannel {
    pub transport: Arc<dyn Transport>,
    pub from: Mailbox,
    pub to: Vec<Mailbox>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
    pub operator: Option<TenantId>,
}

#[async_trait]
impl Channel for EmailChannel {
    fn name(&self) -> &'static str {
        "email"
    }

    async fn send(&self, message: &Message) -> Result<(), String> {
        for to in &self.to {
            self.send_to(to, &message.title(), &message.text()).await?;
        }
        Ok(())
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

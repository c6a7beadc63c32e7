//! Alerts: the facts of this gateway, and the channels of the operator.

mod channels;
mod facts;
pub mod notices;

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use gancho_alerts::{AlertService, AlertSetup, Channel, Thresholds};
use gancho_api::state::InboundParts;
use gancho_domain::TenantId;
use gancho_egress::Client;
use gancho_engine::Engine;
use gancho_mail::{Mailbox, Transport};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use url::Url;

use self::{
    channels::{AcceptedParts, EmailChannel, SlackChannel, UrlChannel},
    facts::GatewayFacts,
    notices::NoticeRoutes,
};
use super::Base;
use crate::settings::Settings;

/// The settings of alerts.
pub struct AlertSettings {
    interval: Duration,
    after: Duration,
    thresholds: Thresholds,
    slack: Option<Url>,
    emails: Vec<Mailbox>,
    from: Mailbox,
}

impl AlertSettings {
    pub fn of(settings: &Settings) -> anyhow::Result<Self> {
        let slack = settings.notify_slack_url.as_ref().map(|url| {
            // The error would repeat the URL, which is a secret.
            Url::parse(url.reveal()).map_err(|_| anyhow::anyhow!("notify_slack_url is not a URL"))
        });
        let mailbox = |text: &String| -> anyhow::Result<Mailbox> {
            text.parse().map_err(|why| anyhow::anyhow!("notify_emails: `{text}`: {why}"))
        };
        let host = settings.public_url.as_ref().and_then(|url| url.host_str().map(str::to_owned));
        // The host of a URL may be an IP address, which no sender can have.
        let host = host.filter(|host| format!("gancho@{host}").parse::<Mailbox>().is_ok());
        let default_from = format!("gancho@{}", host.unwrap_or_else(|| "localhost".to_owned()));
        let from = settings.notify_email_from.clone().unwrap_or(default_from);
        Ok(Self {
            interval: settings.alert_interval,
            after: settings.alert_after,
            thresholds: Thresholds {
                dead_letters: settings.alert_dead_letters.into(),
                dead_letter_rate: f64::from(settings.alert_dead_letter_percent) / 100.0,
                tenant_dead_letters: settings.alert_tenant_dead_letters.into(),
                queue_age: settings.alert_queue_age,
                ..Thresholds::default()
            },
            slack: slack.transpose()?,
            emails: settings.notify_emails.iter().map(mailbox).collect::<Result<_, _>>()?,
            from: from
                .parse()
                .map_err(|why| anyhow::anyhow!("{why}"))
                .context("notify_email_from is not an e-mail address")?,
        })
    }
}

/// The parts of the gateway that alerts use.
pub struct AlertParts<'a> {
    pub base: &'a Base,
    pub engine: Arc<Engine>,
    pub inbound: Option<InboundParts>,
    pub client: &'a Client,
    pub transport: Option<Arc<dyn Transport>>,
    /// The tenant of the operator's own endpoints.
    pub operator: Option<TenantId>,
    pub data_dir: Option<std::path::PathBuf>,
    pub node: String,
}

/// Alerts, and the destinations of notices.
pub struct Alerting {
    pub service: Option<Arc<AlertService>>,
    pub routes: NoticeRoutes,
}

pub fn start(settings: AlertSettings, parts: AlertParts<'_>) -> Alerting {
    let AlertParts { base, engine, inbound, client, transport, operator, data_dir, node } = parts;
    let (clock, registry) = (base.clock.clone(), base.registry.clone());
    let mut channels: Vec<Arc<dyn Channel>> = Vec::new();
    if let Some(operator) = operator {
        let client = client.clone();
        let (targets, accepted) = (parking_lot::Mutex::default(), AcceptedParts::default());
        channels.push(Arc::new(UrlChannel {
            operator,
            registry,
            client,
            clock,
            targets,
            accepted,
        }));
    }
    let slack = settings.slack.map(|url| SlackChannel { url, client: client.clone() });
    channels.extend(slack.clone().map(|slack| -> Arc<dyn Channel> { Arc::new(slack) }));
    let email = transport.map(|transport| EmailChannel {
        transport,
        from: settings.from,
        to: settings.emails.clone(),
        ids: base.ids.clone(),
        clock: base.clock.clone(),
        operator,
        accepted: Arc::default(),
    });
    match &email {
        Some(email) if !settings.emails.is_empty() => channels.push(Arc::new(email.clone())),
        None if !settings.emails.is_empty() => {
            tracing::warn!(
                hint = "set smtp_url or email_via",
                "notify_emails is set but e-mail is off"
            );
        }
        _ => {}
    }
    let routes =
        NoticeRoutes { store: base.store.clone(), slack, email, operator: settings.emails };
    if settings.interval.is_zero() {
        return Alerting { service: None, routes };
    }
    let facts = GatewayFacts::new(base, engine, inbound, operator, data_dir, node.clone());
    let service = AlertService::new(AlertSetup {
        store: base.store.clone(),
        clock: base.clock.clone(),
        ids: base.ids.clone(),
        facts: Arc::new(facts),
        channels,
        thresholds: settings.thresholds,
        interval: settings.interval,
        after: settings.after,
        node,
    });
    Alerting { service: Some(Arc::new(service)), routes }
}

pub fn spawn(service: &Arc<AlertService>, tasks: &TaskTracker, stop: &CancellationToken) {
    let (service, stop) = (service.clone(), stop.clone());
    tasks.spawn(async move { service.run(stop).await });
}

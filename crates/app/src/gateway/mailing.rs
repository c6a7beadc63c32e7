//! Wires up e-mail: the outbox and its transport.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use gancho_api::state::MailParts;
use gancho_domain::RetryPlan;
use gancho_egress::Client;
use gancho_engine::{Engine, LaneSetup};
use gancho_mail::{
    FeedbackService, MailCarrier, MailLimits, Outbox, SesTransport, Sink, SmtpTransport,
    Suppressions, TenantLimits, Transport,
    limits::{TenantLimit, lane},
    ses::SesSettings,
    smtp::SmtpSettings,
};

use super::{Base, lanes::Lanes};
use crate::feedback::EmailFeedback;

pub struct MailSetup {
    pub via: TransportSettings,
    pub message_id_domain: Option<String>,
}

pub enum TransportSettings {
    Smtp(Box<SmtpSettings>),
    Ses(Box<SesSettings>),
    /// Sends nothing, and captures the most recent e-mails in memory.
    Sink,
}

/// Maximum captured e-mails.
const CAUGHT: usize = 200;

pub struct Mailing {
    transport: Arc<dyn Transport>,
    sink: Option<Arc<Sink>>,
    suppressions: Arc<Suppressions>,
    tenant_limits: Arc<TenantLimits>,
}

impl Mailing {
    /// Creates the outbox with its lane. `client` may reach what the operator configures.
    pub fn start(
        base: &Base,
        client: &Client,
        setup: MailSetup,
        lanes: &Lanes,
    ) -> anyhow::Result<(Self, LaneSetup)> {
        let mailing = Self::new(base, client, setup.via, lanes.emails_of_tenant)?;
        let carrier = mailing.carrier(base, setup.message_id_domain);
        Ok((mailing, LaneSetup { terms: lanes.emails, ..lane(carrier) }))
    }

    fn new(
        base: &Base,
        client: &Client,
        via: TransportSettings,
        of_tenant: TenantLimit,
    ) -> anyhow::Result<Self> {
        let mut sink = None;
        let transport: Arc<dyn Transport> = match via {
            TransportSettings::Smtp(settings) => {
                Arc::new(SmtpTransport::new(*settings).context("smtp_url")?)
            }
            TransportSettings::Ses(settings) => {
                Arc::new(SesTransport::new(client.clone(), base.clock.clone(), *settings)?)
            }
            TransportSettings::Sink => {
                sink.insert(Arc::new(Sink::new(base.clock.clone(), CAUGHT))).clone()
            }
        };
        let (store, clock) = (base.store.clone(), base.clock.clone());
        Ok(Self {
            transport,
            sink,
            suppressions: Arc::new(Suppressions { store, clock }),
            tenant_limits: Arc::new(TenantLimits::of_all(of_tenant)),
        })
    }

    fn carrier(&self, base: &Base, message_id_domain: Option<String>) -> MailCarrier {
        MailCarrier {
            transport: self.transport.clone(),
            registry: base.registry.clone(),
            suppressions: self.suppressions.clone(),
            ids: base.ids.clone(),
            clock: base.clock.clone(),
            plan: Arc::new(RetryPlan::EMAIL),
            limits: self.tenant_limits.clone(),
            message_id_domain,
        }
    }

    pub fn tenant_limits(&self) -> Arc<TenantLimits> {
        self.tenant_limits.clone()
    }

    /// Creates the service for SES reports about sent e-mails.
    pub fn feedback(base: &Base, retention: Duration) -> EmailFeedback {
        let Base { store, registry, ids, clock, .. } = base.clone();
        EmailFeedback(FeedbackService { store, registry, ids, clock, retention })
    }

    /// Returns what the API's operations on e-mails need.
    pub fn parts(&self, base: &Base, engine: Arc<Engine>) -> MailParts {
        let outbox = Outbox {
            store: base.store.clone(),
            engine,
            ids: base.ids.clone(),
            clock: base.clock.clone(),
            limits: MailLimits::default(),
        };
        MailParts {
            outbox: Arc::new(outbox),
            suppressions: self.suppressions.clone(),
            sink: self.sink.clone(),
        }
    }

    /// Returns the transport for e-mails that do not use the outbox.
    pub fn transport(&self) -> Arc<dyn Transport> {
        self.transport.clone()
    }

    pub async fn close(&self) {
        self.transport.close().await;
    }
}

//! The limits of the lanes by the settings. They can change while the gateway runs.

use gancho_domain::Lane;
use gancho_engine::{Engine, LaneSetup, LaneTerms};
use gancho_mail::limits::{CONCURRENCY, EXPIRY, RATE, TenantLimit};

use std::sync::Arc;

use crate::settings::Settings;

#[derive(Debug, Clone)]
pub struct Lanes {
    pub webhooks: LaneTerms,
    pub dispatch: LaneTerms,
    pub emails: LaneTerms,
    /// The limits of each tenant, in the e-mail lane.
    pub emails_of_tenant: TenantLimit,
    pub tenant_batch: u32,
}

impl Default for Lanes {
    fn default() -> Self {
        Self {
            webhooks: LaneTerms::default(),
            dispatch: LaneTerms::default(),
            emails: LaneTerms { concurrency: CONCURRENCY, rate: Some(RATE), expiry: Some(EXPIRY) },
            emails_of_tenant: TenantLimit { in_flight: CONCURRENCY.div_ceil(2), rate: None },
            tenant_batch: gancho_domain::fairness::TURN,
        }
    }
}

impl Lanes {
    pub fn of(settings: &Settings) -> Self {
        let concurrency = settings.email_concurrency;
        Self {
            webhooks: LaneTerms {
                concurrency: settings.concurrency,
                rate: settings.delivery_rate,
                expiry: settings.delivery_expiry,
            },
            dispatch: LaneTerms {
                concurrency: settings.dispatch_concurrency,
                rate: settings.dispatch_rate,
                expiry: settings.dispatch_expiry,
            },
            emails: LaneTerms {
                concurrency,
                rate: settings.email_rate,
                expiry: Some(settings.email_expiry),
            },
            emails_of_tenant: TenantLimit {
                // One tenant whose recipients' servers are slow must not delay all others.
                in_flight: settings.email_tenant_concurrency.unwrap_or(concurrency.div_ceil(2)),
                rate: settings.email_tenant_rate,
            },
            tenant_batch: settings.tenant_batch,
        }
    }

    /// Returns the maximum concurrent connections of all deliveries.
    pub fn connections(&self) -> usize {
        let slots = self.webhooks.concurrency.saturating_add(self.dispatch.concurrency);
        let webhooks = slots.saturating_mul(LaneSetup::OUT_PER_SLOT);
        webhooks.saturating_add(self.emails.concurrency) as usize
    }

    /// Scales the limits, except that of e-mails: they are few, and a mail server has agreed limits.
    pub fn scale(&mut self, scaled: impl Fn(u32) -> u32) {
        for terms in [&mut self.webhooks, &mut self.dispatch] {
            terms.concurrency = scaled(terms.concurrency);
        }
    }

    /// Applies them to a running engine.
    pub fn apply(&self, engine: &Arc<Engine>) {
        for (lane, terms) in [
            (Lane::Webhook, self.webhooks),
            (Lane::Dispatch, self.dispatch),
            (Lane::Email, self.emails),
        ] {
            engine.set_lane_terms(lane, terms, self.tenant_batch);
        }
    }
}

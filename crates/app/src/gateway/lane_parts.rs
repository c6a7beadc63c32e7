//! The lanes of the engine, and the parts of the gateway that their carriers need.

use std::{sync::Arc, time::Duration};

use gancho_domain::Lane;
use gancho_engine::{Carrier, LaneSetup, LaneTerms};
use gancho_inbound::InternalSink;

use super::{
    Setup,
    foundation::Foundation,
    mailing::Mailing,
    notices::NoticeCarrier,
    receiving::{ReceivingParts, ReceivingSetup},
};

pub struct LaneParts {
    pub receiving: Option<ReceivingParts>,
    pub mailing: Option<Mailing>,
    pub lanes: Vec<LaneSetup>,
}

impl LaneParts {
    /// Creates the lanes. Takes the setups of receiving and of e-mail.
    pub async fn new(foundation: &Foundation, setup: &mut Setup) -> anyhow::Result<Self> {
        let webhooks = webhook_lane(foundation, setup.lanes.webhooks);
        let receiving = match setup.receiving.take() {
            Some(receiving) => Some(receiving_parts(foundation, receiving).await?),
            None => None,
        };
        let (base, [_, own_client]) = (&foundation.base, &foundation.clients);
        let mail = setup.mail.take();
        let mail = mail.map(|mail| Mailing::start(base, own_client, mail, &setup.lanes));
        let (mailing, emails) = mail.transpose()?.unzip();
        let (terms, retention) = (setup.lanes.dispatch, setup.limits.retention);
        let has_mail = mailing.is_some();
        let dispatch = receiving
            .as_ref()
            .map(|parts| dispatch_lane(foundation, parts, has_mail, retention, terms));
        let lanes = [Some(webhooks), dispatch, emails].into_iter().flatten().collect();
        Ok(Self { receiving, mailing, lanes })
    }
}

async fn receiving_parts(
    foundation: &Foundation,
    setup: ReceivingSetup,
) -> anyhow::Result<ReceivingParts> {
    let [_, own_client] = &foundation.clients;
    let parts = ReceivingParts::new(&foundation.base, own_client.clone(), setup).await;
    parts.map_err(|error| foundation.ring.explain(error))
}

fn webhook_lane(foundation: &Foundation, terms: LaneTerms) -> LaneSetup {
    let Foundation { outbound, clients: [client, own_client], operator, .. } = foundation;
    let carrier: Arc<dyn Carrier> = match operator {
        Some(operator) => Arc::new(NoticeCarrier {
            operator: *operator,
            tenants: outbound.carrier(client),
            notices: outbound.carrier(own_client),
        }),
        None => Arc::new(outbound.carrier(client)),
    };
    LaneSetup { terms, ..LaneSetup::new(Lane::Webhook, carrier) }
}

/// Creates the dispatch lane. Reports of SES are passed to this gateway's outbox, if it sends e-mails.
fn dispatch_lane(
    foundation: &Foundation,
    receiving: &ReceivingParts,
    has_mail: bool,
    retention: Duration,
    terms: LaneTerms,
) -> LaneSetup {
    let base = &foundation.base;
    let feedback = || -> Arc<dyn InternalSink> { Arc::new(Mailing::feedback(base, retention)) };
    LaneSetup { terms, ..receiving.lane(base, has_mail.then(feedback)) }
}

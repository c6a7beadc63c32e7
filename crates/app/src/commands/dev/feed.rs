//! Follows the deliveries of all lanes, and shows each change.

use std::collections::VecDeque;

use anyhow::Context;
use gancho_domain::{EndpointId, EventId, Lane, State, TenantScope};
use gancho_engine::{DeliveryChange, Tail, TailFilter};
use tokio::sync::mpsc::UnboundedReceiver;

use super::{
    screen::{self, Outcome, Receiver},
    stage::Stage,
};
use crate::receiver::ReceivedWebhook;

pub struct Feed {
    tail: Tail,
    arrivals: UnboundedReceiver<ReceivedWebhook>,
    /// What the receiver got last.
    received: VecDeque<ReceivedWebhook>,
    /// The event whose acceptance was shown last: it may have several deliveries.
    accepted: Option<EventId>,
}

/// Maximum arrivals that are remembered until the gateway has recorded their outcome.
const MAX_REMEMBERED: usize = 64;

impl Feed {
    pub fn of(stage: &Stage, arrivals: UnboundedReceiver<ReceivedWebhook>) -> Self {
        let tail = stage.gateway.engine.tail(TailFilter::default());
        Self { tail, arrivals, received: VecDeque::new(), accepted: None }
    }

    /// Shows changes until an event is delivered.
    pub async fn first_delivery(&mut self, stage: &Stage) -> anyhow::Result<()> {
        while self.show_next(stage).await? != State::Delivered {}
        Ok(())
    }

    /// Shows the next change of a delivery, and returns its new state. Can be canceled without losing any.
    pub async fn show_next(&mut self, stage: &Stage) -> anyhow::Result<State> {
        let batch = self.tail.next(1).await;
        let change = batch.changes.first().context("the tail has ended")?;
        self.remember();
        if change.latency.is_none() && !change.row.state.is_final() {
            if self.accepted.replace(change.row.event) != Some(change.row.event) {
                screen::accepted(&change.row);
            }
        } else {
            self.show_outcome(stage, change).await?;
        }
        Ok(change.row.state)
    }

    fn remember(&mut self) {
        while let Ok(arrival) = self.arrivals.try_recv() {
            self.received.push_back(arrival);
        }
        let excess = self.received.len().saturating_sub(MAX_REMEMBERED);
        self.received.drain(..excess);
    }

    async fn show_outcome(&mut self, stage: &Stage, change: &DeliveryChange) -> anyhow::Result<()> {
        let row = &change.row;
        let receiver = receiver_of(stage, change).await?;
        let arrival = match receiver {
            Receiver::BuiltIn => self.take_arrival(row.event),
            Receiver::Mailbox | Receiver::Own(_) => None,
        };
        screen::outcome(&Outcome {
            row,
            latency: change.latency,
            at: change.at,
            receiver,
            arrival,
        });
        if row.lane == Lane::Email && row.state == State::Delivered {
            screen::email(&stage.last_email().await?);
        }
        Ok(())
    }

    /// Returns what the receiver got of this event. The header of a partner's event has another prefix.
    fn take_arrival(&mut self, event: EventId) -> Option<ReceivedWebhook> {
        let event = event.to_string();
        let (_, id) = event.split_once('_')?;
        let at = self.received.iter().position(|arrival| arrival.id.ends_with(id))?;
        self.received.remove(at)
    }
}

async fn receiver_of(stage: &Stage, change: &DeliveryChange) -> anyhow::Result<Receiver> {
    let id = match change.row.lane {
        Lane::Email => return Ok(Receiver::Mailbox),
        Lane::Dispatch => return Ok(Receiver::BuiltIn),
        Lane::Webhook => EndpointId::from(change.row.target),
    };
    if id == stage.endpoint {
        return Ok(Receiver::BuiltIn);
    }
    let scope = TenantScope::internal(change.tenant);
    let endpoint = stage.gateway.store.endpoint(scope, id).await?;
    Ok(Receiver::Own(endpoint.map_or_else(|| id.to_string(), |endpoint| endpoint.url)))
}

//! Renders how deliveries to a webhook are going.

use gancho_domain::{Endpoint, Lane};
use gancho_engine::{Pool, TargetStatus};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    render::{Timestamp, words},
    state::Api,
};

/// Health of the webhook, as seen by the node that answers. The circuit breaker is that of any node.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// `untried` (this node has not sent anything to it recently), `prompt`, `slow` (it responds slowly) or
    /// `failing` (it responds with errors or not at all).
    #[schema(value_type = words::HealthState)]
    pub state: &'static str,
    /// `closed`, `open` (it failed too often in a row, and attempts are suspended) or `half_open`
    /// (one delivery is sent to test whether it works again).
    #[schema(value_type = words::CircuitBreakerState)]
    pub circuit_breaker: &'static str,
    /// Until when attempts are suspended; then one delivery is sent as a test. Null unless the circuit breaker is open.
    pub circuit_open_until: Option<Timestamp>,
    /// Number of attempts in flight.
    pub in_flight: u32,
    /// Number of deliveries queued in memory of the node that answers.
    pub waiting: usize,
    /// Whether further deliveries wait in the store.
    pub has_backlog: bool,
}

impl Health {
    pub fn of(api: &Api, endpoint: &Endpoint) -> Self {
        let status = api.engine.target_status(Lane::Webhook, endpoint.tenant, endpoint.id);
        status.map_or(Self::UNKNOWN, Self::from)
    }

    const UNKNOWN: Self = Self {
        state: "untried",
        circuit_breaker: "closed",
        circuit_open_until: None,
        in_flight: 0,
        waiting: 0,
        has_backlog: false,
    };
}

impl From<TargetStatus> for Health {
    fn from(status: TargetStatus) -> Self {
        Self {
            state: match status.pool {
                Pool::Quick | Pool::Prompt => "prompt",
                Pool::Untried => "untried",
                Pool::Moderate | Pool::Slow => "slow",
                // Its attempts take long, and none has failed.
                Pool::Troubled if !status.has_failed => "slow",
                Pool::Troubled => "failing",
            },
            circuit_breaker: match status.rests_until {
                Some(_) => "open",
                None if status.is_probed => "half_open",
                None => "closed",
            },
            circuit_open_until: status.rests_until.map(Timestamp),
            in_flight: status.in_flight,
            waiting: status.queued,
            has_backlog: status.is_behind,
        }
    }
}

//! Why a delivery waits: the sentence, and each gate on its way.

use serde::Deserialize;

use super::{
    super::{
        audit_actor::LastAction,
        delivery_row::{DeliveryRow, Reason},
        endpoint_facts::EndpointFacts,
    },
    attempt::Attempt,
};
use crate::{
    params::Link,
    sentence::{Html, Sentence},
    status_mark::StatusMark,
    texts::Texts,
    visit::Visit,
};

pub struct Waiting {
    pub sentence: Html,
    pub advice: Option<Html>,
    /// Who paused what it waits for.
    pub paused: Option<Sentence>,
    /// Whether an attempt is in flight.
    pub is_in_flight: bool,
    pub gates: Vec<Gate>,
}

/// A condition that must hold before a delivery is sent.
pub struct Gate {
    pub name: Sentence,
    pub value: Html,
    pub state: GateState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum GateState {
    Open,
    /// The first closed gate: the reason for the wait.
    Here,
    /// It has passed all of them and is being sent.
    Passing,
    /// Closed as well, but not reached yet.
    Ahead,
    Later,
}

impl Gate {
    pub fn class(&self) -> &'static str {
        match self.state {
            GateState::Here | GateState::Passing => "here",
            GateState::Later => "later",
            GateState::Open | GateState::Ahead => "",
        }
    }

    pub fn mark(&self) -> StatusMark {
        match self.state {
            GateState::Open => StatusMark::Delivered,
            GateState::Here => StatusMark::Retrying,
            GateState::Passing => StatusMark::InFlight,
            GateState::Ahead => StatusMark::Warning,
            GateState::Later => StatusMark::Pending,
        }
    }

    pub fn word(&self, t: &Texts) -> Sentence {
        match self.state {
            GateState::Open => t.say("gate.open"),
            GateState::Here => t.say("gate.here"),
            GateState::Passing => t.say("gate.passing"),
            GateState::Ahead => t.say("gate.ahead"),
            GateState::Later => t.say("gate.later"),
        }
    }
}

#[derive(Default, Deserialize)]
struct Queues {
    data: Vec<Queue>,
    paused_tenants: Vec<String>,
}

#[derive(Deserialize)]
struct Queue {
    lane: String,
    is_paused: bool,
}

impl Waiting {
    pub async fn of(
        visit: &Visit,
        row: &DeliveryRow,
        endpoint: Option<&EndpointFacts>,
        last: Option<&Attempt>,
    ) -> Option<Self> {
        let reason = row.waiting_for.as_ref()?.reason;
        let queues: Queues =
            visit.get_as_operator(Link::new("/v1/queues")).await.unwrap_or_default();
        let paused = match (reason, &row.webhook_id) {
            (Reason::LaneResume, _) if !visit.is_portal() => {
                LastAction::on(visit, "pauseQueue", row.lane.as_str()).await
            }
            (Reason::TenantResume, _) => LastAction::pausing(visit, "tenant", "").await,
            (Reason::WebhookResume, Some(id)) => LastAction::pausing(visit, "webhook", id).await,
            _ => None,
        };
        Some(Self {
            paused: paused.map(|act| act.paused(&visit.t)),
            is_in_flight: reason == Reason::Attempt,
            sentence: sentence(&visit.t, row, last),
            advice: advice(visit, row, reason),
            gates: endpoint.map(|of| gates(visit, row, of, &queues, reason)).unwrap_or_default(),
        })
    }
}

fn sentence(t: &Texts, row: &DeliveryRow, last: Option<&Attempt>) -> Html {
    let next = t.number(u64::from(row.attempts) + 1);
    let Some(waiting) = &row.waiting_for else { return Html::default() };
    let sentence = match (waiting.reason, &waiting.until) {
        (Reason::Attempt, _) => t.say("why.attempt").with("n", next),
        (Reason::Retry, Some(until)) => {
            let due = t.say("why.retry").with("n", next).html("span", t.until(until));
            let last = last.and_then(|last| Some((last, last.why(t)?)));
            return match last {
                Some((last, why)) => t
                    .say("why.retry_after")
                    .html("due", due.into())
                    .with("last", t.number(u64::from(last.number)))
                    .html("error", why)
                    .into(),
                None => due.into(),
            };
        }
        (Reason::Schedule, Some(until)) => t.say("why.schedule").html("time", t.full_time(until)),
        (Reason::LaneResume | Reason::TenantResume, _) if t.is_portal => t.say("why.held"),
        (Reason::LaneResume, _) => t.say("why.lane").code("lane", &row.lane),
        (Reason::TenantResume, _) => t.say("why.tenant"),
        (Reason::WebhookResume, _) => t.say("why.endpoint"),
        (Reason::CircuitBreaker, Some(until)) => t.say("why.breaker").html("span", t.until(until)),
        (Reason::CircuitBreaker, None) => t.say("why.probe"),
        (Reason::RateLimit, Some(until)) => t.say("why.rate").html("span", t.until(until)),
        (Reason::InFlightLimit, _) => t.say("why.slots"),
        (Reason::EarlierDelivery, _) => t.say("why.order"),
        _ if t.is_portal => t.say("why.soon"),
        _ => t.say("why.turn"),
    };
    sentence.into()
}

/// Returns what would help.
fn advice(visit: &Visit, row: &DeliveryRow, reason: Reason) -> Option<Html> {
    let t = visit.t;
    let endpoint = row.webhook_id.as_ref().map(|id| visit.link(format!("/endpoints/{id}")));
    Some(match reason {
        Reason::Retry | Reason::Schedule => t.say("why.advice.retry").into(),
        Reason::LaneResume | Reason::TenantResume if t.is_portal => return None,
        Reason::LaneResume => t
            .say("why.advice.lane")
            .link("queues", visit.link("/queues"), t.say("nav.queues"))
            .into(),
        Reason::TenantResume => {
            let slug = visit.tenant.as_ref()?.slug.clone();
            let page = visit.link(format!("/tenants/{slug}"));
            t.say("why.advice.tenant").link("tenant", page, slug).into()
        }
        Reason::WebhookResume => {
            t.say("why.advice.endpoint").link("endpoint", endpoint?, t.say("row.endpoint")).into()
        }
        Reason::CircuitBreaker => {
            t.say("why.advice.breaker").link("endpoint", endpoint?, t.say("row.endpoint")).into()
        }
        _ => return None,
    })
}

/// Returns each gate in order. The first closed one is the reason that the API returned.
fn gates(
    visit: &Visit,
    row: &DeliveryRow,
    endpoint: &EndpointFacts,
    queues: &Queues,
    reason: Reason,
) -> Vec<Gate> {
    let t = &visit.t;
    let running = |is_paused: bool| {
        Html::from(if is_paused { t.say("gate.paused") } else { t.say("gate.running") })
    };
    let is_lane_paused =
        queues.data.iter().any(|queue| queue.lane == row.lane.as_str() && queue.is_paused);
    let is_tenant_paused = queues.paused_tenants.contains(&endpoint.tenant_id);
    let until = row.waiting_for.as_ref().and_then(|waiting| waiting.until);
    let due = match (reason, until) {
        (Reason::Retry | Reason::Schedule, Some(until)) => t.time(&until),
        _ => t.say("gate.due").into(),
    };
    let breaker = match &endpoint.health.circuit_open_until {
        Some(until) => t.say("gate.open_until").html("time", t.time(until)).into(),
        None if endpoint.is_breaker_open() => Html::from(t.say("gate.probing")),
        None => t.say("gate.closed").into(),
    };
    let order = if endpoint.is_ordered() { "gate.per_subject" } else { "gate.best_effort" };
    let rate = endpoint.rate_limit.as_ref().map_or_else(
        || t.say("gate.no_limit"),
        |rate| t.say("gate.rate").with("n", t.number(u64::from(rate.count))).with("per", &rate.per),
    );
    let in_flight = endpoint.max_in_flight.map_or_else(
        || t.say("gate.in_flight").with("n", endpoint.health.in_flight),
        |max| t.say("gate.in_flight_of").with("n", endpoint.health.in_flight).with("max", max),
    );
    let gates = [
        (
            t.say("gate.lane").with("name", &row.lane),
            running(is_lane_paused),
            Reason::LaneResume,
            is_lane_paused,
        ),
        (t.say("gate.tenant"), running(is_tenant_paused), Reason::TenantResume, is_tenant_paused),
        (
            t.say("gate.endpoint"),
            endpoint.state(t).into(),
            Reason::WebhookResume,
            endpoint.is_paused || !endpoint.is_active,
        ),
        (t.say("gate.plan"), due, Reason::Retry, false),
        (t.say("gate.breaker"), breaker, Reason::CircuitBreaker, endpoint.is_breaker_open()),
        (t.say("gate.order"), t.say(order).into(), Reason::EarlierDelivery, false),
        (t.say("gate.rate_limit"), rate.into(), Reason::RateLimit, false),
        (t.say("gate.slots"), in_flight.into(), Reason::Attempt, false),
        (t.say("gate.turn"), Html::default(), Reason::Backlog, false),
    ];
    let place = |reason: Reason| match reason {
        Reason::Schedule => Reason::Retry,
        Reason::InFlightLimit => Reason::Attempt,
        reason => reason,
    };
    let here = gates.iter().position(|(_, _, gate, _)| *gate == place(reason));
    let state = |index: usize, is_closed: bool| match here {
        Some(here) if index == here && reason == Reason::Attempt => GateState::Passing,
        Some(here) if index == here => GateState::Here,
        Some(here) if index < here => GateState::Open,
        _ if is_closed => GateState::Ahead,
        _ => GateState::Later,
    };
    // A tenant's users see only their own gates.
    let is_shown = |reason: Reason| {
        let is_operators =
            matches!(reason, Reason::LaneResume | Reason::TenantResume | Reason::Backlog);
        !(t.is_portal && is_operators)
    };
    let gate = |(index, (name, value, reason, is_closed))| {
        is_shown(reason).then(|| Gate { name, value, state: state(index, is_closed) })
    };
    gates.into_iter().enumerate().filter_map(gate).collect()
}

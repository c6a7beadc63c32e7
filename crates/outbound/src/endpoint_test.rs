//! Tests an endpoint: sends a sample event to it alone, through the real path, and returns the outcome of
//! the first attempt.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gancho_domain::{
    Attempt, DeliveryId, Endpoint, EndpointId, EventId, EventType, FieldError, Lane, Pattern,
    Status, Tenant, TenantScope, field_error::joined,
};
use gancho_store::{DeliveryView, Pause, StoreError};
use thiserror::Error;
use tokio::time::{Instant, sleep};

use crate::{EventTypeInfo, NewEvent, PublishError, Publisher, event_types::EventTypeError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointTest {
    pub delivery: DeliveryId,
    pub event: EventId,
    pub event_type: String,
    /// `None` if there was none before the timeout, because the endpoint has not answered earlier deliveries
    /// yet.
    pub attempt: Option<Attempt>,
    pub status: Status,
}

#[derive(Debug, Error)]
pub enum EndpointTestError {
    #[error("no endpoint with this id exists")]
    NotFound,
    #[error("the endpoint is disabled: enable it first")]
    EndpointOff,
    /// The endpoint, its tenant or the whole lane is paused.
    #[error("{what} paused, so a test event would wait: resume first", what = paused_what(*.0))]
    Paused(Pause),
    #[error("{}", joined(.0))]
    Faulty(Vec<FieldError>),
    #[error(transparent)]
    Publish(#[from] PublishError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How long to wait beyond the timeout of the endpoint.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How often the delivery is read: less and less often.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LAST_LOOK: Duration = Duration::from_millis(500);

/// Uses the given event type, or the first one that the endpoint subscribes to.
pub async fn test_endpoint(
    publisher: &Arc<Publisher>,
    scope: TenantScope,
    tenant: &Tenant,
    endpoint: EndpointId,
    event_type: Option<String>,
) -> Result<EndpointTest, EndpointTestError> {
    let found =
        publisher.store.endpoint(scope, endpoint).await?.ok_or(EndpointTestError::NotFound)?;
    if !found.is_active {
        return Err(EndpointTestError::EndpointOff);
    }
    let target = (scope.tenant(), endpoint);
    if let Some(pause) = publisher.engine.pause_of(Lane::Webhook, target) {
        return Err(EndpointTestError::Paused(pause));
    }
    let (event_type, data) = sample(publisher, scope, &found, event_type).await?;
    let name = event_type.as_str().to_owned();
    let event = NewEvent {
        event_type,
        data,
        subject: None,
        external_id: None,
        idempotency_key: None,
        deliver_at: None,
        is_test: true,
        trace: None,
        intake_id: None,
    };
    let event = publisher.publish_to(scope, tenant, endpoint, event).await?.id;
    let view = publisher.store.event(scope, event).await?;
    let delivery = view.as_ref().and_then(|view| view.deliveries.first()).map(|row| row.id);
    // The endpoint was disabled or deleted after it was read.
    let delivery = delivery.ok_or(EndpointTestError::EndpointOff)?;
    let profile = publisher.registry.profile(&found.profile);
    let limit =
        found.timeout.or_else(|| profile.map(|profile| profile.timeout)).unwrap_or_default();
    let view = first_attempt(publisher, scope, delivery, limit + TIMEOUT).await?;
    Ok(EndpointTest {
        delivery,
        event,
        event_type: name,
        status: view.row.status(),
        attempt: view.attempts.into_iter().next(),
    })
}

const fn paused_what(pause: Pause) -> &'static str {
    match pause {
        Pause::Endpoint(..) => "the webhook is",
        Pause::Tenant(_) => "the tenant's deliveries are",
        Pause::Lane(_) => "all webhook deliveries are",
    }
}

/// Returns the delivery after its first attempt, or its state at the timeout.
async fn first_attempt(
    publisher: &Publisher,
    scope: TenantScope,
    id: DeliveryId,
    within: Duration,
) -> Result<DeliveryView, EndpointTestError> {
    let until = Instant::now() + within;
    let mut pause = FIRST_LOOK;
    loop {
        let view = publisher.store.delivery(scope, id).await?.ok_or(EndpointTestError::NotFound)?;
        let tried = view.row.attempts > 0 || view.row.state.is_final();
        if tried || Instant::now() >= until {
            return Ok(view);
        }
        sleep(pause).await;
        pause = (pause * 5 / 4).min(LAST_LOOK);
    }
}

async fn sample(
    publisher: &Publisher,
    scope: TenantScope,
    endpoint: &Endpoint,
    event_type: Option<String>,
) -> Result<(EventType, Bytes), EndpointTestError> {
    let known = publisher.types.list(scope).await.map_err(unknown)?;
    let name = match event_type {
        Some(name) => name,
        None => wanted(endpoint, &known),
    };
    let event_type: EventType = name.parse().map_err(|error| {
        EndpointTestError::Faulty(vec![FieldError::new("malformed", "/event_type", error)])
    })?;
    let example = known.iter().find(|one| one.name == name).map(|one| one.example.get());
    let data = match example.filter(|example| *example != "null") {
        Some(example) => Bytes::copy_from_slice(example.as_bytes()),
        None => Bytes::from_static(br#"{"test":true}"#),
    };
    Ok((event_type, data))
}

/// Returns an event type that the endpoint would get: one that it lists, a known one that matches a pattern,
/// or a typical one of its profile.
fn wanted(endpoint: &Endpoint, known: &[EventTypeInfo]) -> String {
    for pattern in &endpoint.events {
        match pattern {
            Pattern::One(one) => return one.to_string(),
            Pattern::Prefix(prefix) => {
                let fits = known.iter().find(|one| pattern.matches(&one.name));
                return fits.map_or_else(|| format!("{prefix}test"), |one| one.name.clone());
            }
            Pattern::All => {}
        }
    }
    let usual = match endpoint.profile.as_str() {
        "email-gateway" => "email.sent",
        "auracore" => "agent.request.completed",
        "saas" => "user.created",
        _ => "invoice.paid",
    };
    usual.to_owned()
}

fn unknown(error: EventTypeError) -> EndpointTestError {
    match error {
        EventTypeError::Store(error) => EndpointTestError::Store(error),
        EventTypeError::Faulty(errors) => EndpointTestError::Faulty(errors),
        other => {
            EndpointTestError::Faulty(vec![FieldError::new("event_type", "/event_type", other)])
        }
    }
}

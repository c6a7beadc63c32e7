//! Events about e-mails: every subscriber gets them, with the times that polling shows.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gancho_domain::{Lane, NextStep, RetryPlan, SystemClock, Verdict};
use gancho_engine::{AttemptResult, Carrier, Preemption};
use gancho_mail::{
    Acceptance, EmailStatus, MailCarrier, OutgoingMessage, Sink, SuppressionReason, TenantLimits,
    Transport, TransportError,
};
use gancho_outbound::Registry;
use gancho_store::{Job, Pause};
use gancho_wire::Profile;

use crate::stage::{Setup, Stage, StoreKind, draft};

on_both! { times_are_those_that_polling_shows nobody_is_left_out_by_a_cold_cache }

/// Takes some time, and refuses messages to `no`.
struct SlowPost;

#[async_trait]
impl Transport for SlowPost {
    fn name(&self) -> &'static str {
        "slow"
    }

    async fn send(
        &self,
        letter: &OutgoingMessage,
        _: &Preemption,
    ) -> Result<Acceptance, TransportError> {
        // Sleeps like a slow server.
        tokio::time::sleep(Duration::from_millis(7)).await;
        if letter.to.to_string().starts_with("no") {
            return Err(TransportError::Unfit { text: "as told".into() });
        }
        Ok(Acceptance { message_id: "1".into(), status: 250, text: "taken".into() })
    }
}

/// faults.md B11
async fn times_are_those_that_polling_shows(on: StoreKind) {
    let stage = Stage::new(on, SlowPost).await;
    for _ in 0..3 {
        let id = stage.submit(draft("yes@example.com")).await;
        let view = stage.until(id, EmailStatus::Sent).await;
        let told = stage.told(id).await;
        assert_eq!(told[0].2["sentAt"], view.row.sent_at.unwrap().to_string());
    }
    let refused = stage.submit(draft("no@example.com")).await;
    stage.until(refused, EmailStatus::Failed).await;
    let mailbox = "never@example.com".parse().unwrap();
    stage.suppressions.add(stage.scope, &mailbox, SuppressionReason::Manual, None).await.unwrap();
    let suppressed = stage.submit(draft("never@example.com")).await;
    stage.until(suppressed, EmailStatus::Failed).await;
    let pause = Pause::Lane(Lane::Email);
    stage.engine.pause(pause).await.unwrap();
    let expired = stage.submit(draft("late@example.com")).await;
    stage.clock.advance(Duration::from_hours(25));
    stage.engine.resume(pause).await.unwrap();
    stage.until(expired, EmailStatus::Failed).await;
    stage.clock.advance(Duration::from_secs(5));
    for (id, attempts) in [(refused, 1), (suppressed, 0), (expired, 0)] {
        let (view, told) = (stage.email(id).await, stage.told(id).await);
        assert_eq!(told[0].2["failedAt"], view.failed_at.unwrap().to_string());
        // faults.md B13: a delivery that was not tried has no attempt.
        assert_eq!((view.row.attempts, view.attempts.len()), (attempts, attempts as usize));
        assert_eq!(told[0].2["attempts"], attempts);
    }
}

/// faults.md E2: an event has its deliveries even if nothing was cached before.
async fn nobody_is_left_out_by_a_cold_cache(on: StoreKind) {
    let sink = Arc::new(Sink::new(Arc::new(SystemClock), 10));
    let idle = Setup { is_at_work: false, ..Setup::default() };
    let stage = Stage::with(on, sink.clone(), idle).await;
    let _receiver = stage.receiver().await;
    let id = stage.submit(draft("ana@example.com")).await;
    let event = stage.store.event(stage.scope, id.cast()).await.unwrap().unwrap();
    let delivery = &event.deliveries[0];
    let job = Job {
        delivery: delivery.id,
        tenant: stage.tenant.id,
        lane: Lane::Email,
        target: delivery.target,
        parcel: event.parcel.clone(),
        number: None,
        attempts: 0,
        attempts_before: 0,
        lost_leases: 0,
        is_replay: false,
        in_order: false,
        created_at: event.parcel.created_at,
    };
    let ring = stage.desk.ring.clone();
    let next = NextStep::Delivered;
    for _ in 0..2 {
        // As in a process that has just started.
        let registry = Registry::new(stage.store.clone(), ring.clone(), Profile::built_in().into());
        let carrier = MailCarrier {
            transport: sink.clone(),
            registry: Arc::new(registry),
            suppressions: stage.suppressions.clone(),
            ids: stage.desk.ids.clone(),
            clock: stage.clock.clone(),
            plan: Arc::new(RetryPlan::EMAIL),
            limits: Arc::new(TenantLimits::default()),
            message_id_domain: None,
        };
        let carried = AttemptResult::new(Verdict::Delivered, Duration::from_millis(1));
        let at = event.parcel.created_at;
        let follow = carrier.follow(&job, &carried, &next, at).await.unwrap();
        assert_eq!(follow.len(), 1);
        assert_eq!(follow[0].deliveries.len(), 1, "{:?}", follow[0]);
    }
}

//! One attempt at one delivery: expired? → carry → decide → follow → settle.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use gancho_domain::{Code, Failure, NextStep, RetryContext, Time, decide, decide::expired};
use gancho_store::{Job, LeaseStatus, Settlement};

use crate::{
    Engine,
    carrier::AttemptResult,
    follow::{follow, last_failure},
    lane::{LaneState, Ticket},
    preemption::Preemption,
    scheduler::{BreakerChange, Outcome, Slot, SlotPolicy},
    settle, suspect,
};

pub(crate) async fn carry(
    engine: Arc<Engine>,
    lane: Arc<LaneState>,
    slot: SlotGuard,
    ticket: Ticket,
) {
    // Another node may have taken it over since it left the queue.
    if !suspect::may_try(&engine, &ticket).await || !engine.membership.is(ticket.node) {
        return;
    }
    match engine.membership.lease_status(&*engine.store, &ticket) {
        LeaseStatus::Held => {}
        LeaseStatus::Doubtful => {
            drop(slot);
            return engine.give_back(&lane, vec![ticket]);
        }
        LeaseStatus::Lost => {
            lane.counters.lease_lost.add(1);
            return;
        }
    }
    let started_at = engine.clock.now();
    let settlement = if let Some(failure) = untried(&engine, &lane, &ticket.job, started_at).await {
        drop(slot);
        Box::pin(give_up(&engine, &lane, &ticket, failure, started_at)).await
    } else {
        let (carried, outcome) = attempt(&lane, &ticket.job, started_at, &slot.preemption).await;
        // Frees the target for the next delivery while this result is written.
        if let Some(change) = slot.finish(outcome) {
            engine.log_breaker(&ticket.job, change);
        }
        let settling = async {
            let settlement = settlement(&engine, &lane, &ticket, &carried, started_at).await;
            settle(&engine, &lane, &ticket, settlement).await;
        };
        return engine.write_last(std::slice::from_ref(&ticket), settling).await;
    };
    let settling = settle(&engine, &lane, &ticket, settlement);
    engine.write_last(std::slice::from_ref(&ticket), settling).await;
}

/// Writes the result, unless the lease was lost.
async fn settle(
    engine: &Arc<Engine>,
    lane: &LaneState,
    ticket: &Ticket,
    settlement: Option<Settlement>,
) {
    if let Some(settlement) = settlement {
        settle::settle(engine, lane, ticket, settlement).await;
    }
}

/// Why it is not tried at all: its content was erased, or it waited too long.
async fn untried(engine: &Arc<Engine>, lane: &LaneState, job: &Job, now: Time) -> Option<Failure> {
    if job.parcel.erased_at.is_some() {
        return Some(Failure::new(Code::ERASED, "the content was erased"));
    }
    // Where the store expires what waits, it knows what was scheduled for later; that is tried at its time.
    let is_checked = job.attempts > 0 || !lane.expires_in_store;
    let has_expired = is_checked && lane.expires_at(job).is_some_and(|end| now >= end);
    if has_expired && engine.trusts_clock(now) {
        return Some(expired(last_failure(engine, job).await.as_ref()));
    }
    None
}

/// Gives up a delivery: a dead letter without an attempt.
async fn give_up(
    engine: &Arc<Engine>,
    lane: &LaneState,
    ticket: &Ticket,
    failure: Failure,
    now: Time,
) -> Option<Settlement> {
    let never = AttemptResult::never(failure.clone());
    let next = NextStep::Dead(failure);
    let follow = follow(engine, lane, ticket, &never, &next, now).await?;
    let mut settlement = Settlement::of(&ticket.job, now, None, next);
    settlement.follow = follow;
    Some(settlement)
}

/// Returns the carrier's result and the outcome for the target. A panic counts as a result.
async fn attempt(
    lane: &LaneState,
    job: &Job,
    started_at: Time,
    preemption: &Preemption,
) -> (AttemptResult, Outcome) {
    let trying = AssertUnwindSafe(lane.carrier.carry(job, job.attempts + 1, preemption));
    let (carried, outcome) = match trying.catch_unwind().await {
        Ok(carried) if carried.was_deferred() => {
            note_deferral(lane, &carried, started_at);
            return (carried, Outcome::NotTried);
        }
        Ok(carried) if !carried.is_attempt => return (carried, Outcome::NotTried),
        Ok(carried) => {
            lane.timings.attempt.add(carried.latency);
            let outcome = Outcome::Tried {
                at_fault: carried.at_fault,
                load: carried.load,
                latency: carried.latency,
            };
            (carried, outcome)
        }
        Err(_) => (broken(lane, job), Outcome::NotTried),
    };
    lane.counters.carried.add(1);
    lane.timings.count_attempt(job.attempts + 1);
    if job.attempts == 0 {
        lane.timings.to_first_attempt.add(started_at.since(job.created_at));
    }
    (carried, outcome)
}

/// A node that lacks something lacks it for all deliveries, so this logs once a minute, not for each.
fn note_deferral(lane: &LaneState, carried: &AttemptResult, now: Time) {
    lane.counters.deferred.add(1);
    if let Some(failure) = carried.verdict.failure()
        && lane.may_warn(now)
    {
        let reason = failure.reason();
        tracing::warn!(lane = %lane.lane, reason, "deferring deliveries: this node cannot send");
    }
}

fn broken(lane: &LaneState, job: &Job) -> AttemptResult {
    lane.counters.panics.add(1);
    tracing::error!(delivery = %job.delivery, lane = %lane.lane, "carrier panicked");
    let failure = Failure::new(Code::CARRIER_PANIC, "internal error: the carrier panicked");
    AttemptResult::internal_error(failure)
}

/// Turns the result into a settlement. `None` if the lease was lost meanwhile.
async fn settlement(
    engine: &Arc<Engine>,
    lane: &LaneState,
    ticket: &Ticket,
    carried: &AttemptResult,
    started_at: Time,
) -> Option<Settlement> {
    let job = &ticket.job;
    let now = engine.clock.now();
    let number = job.attempts + 1;
    let standing = RetryContext {
        attempts: number.saturating_sub(job.attempts_before),
        expires_at: lane.expires_at(job).filter(|_| engine.trusts_clock(now)),
    };
    let plan = carried.plan.as_ref().unwrap_or(&ticket.plan);
    let mut next = decide(standing, &carried.verdict, plan, now, &*engine.random);
    let is_attempt = carried.is_attempt && !carried.was_deferred();
    if let (NextStep::Dead(failure), false) = (&mut next, is_attempt) {
        *failure = failure.after(last_failure(engine, job).await.as_ref());
    }
    let ended_at = if is_attempt { started_at + carried.latency } else { now };
    // A deferral is not reported, unless it ends the delivery.
    let is_news = !carried.was_deferred() || matches!(next, NextStep::Dead(_));
    let follow = if is_news {
        follow(engine, lane, ticket, carried, &next, ended_at).await?
    } else {
        Vec::new()
    };
    let attempt = is_attempt.then(|| carried.attempt(number, started_at, &next));
    let mut settlement = Settlement::of(job, now, attempt, next);
    settlement.follow = follow;
    Some(settlement)
}

/// A target's slot, returned however the attempt ends.
pub(crate) struct SlotGuard {
    engine: Arc<Engine>,
    lane: Arc<LaneState>,
    slot: Option<Slot>,
    preemption: Preemption,
}

impl SlotGuard {
    pub fn new(engine: &Arc<Engine>, lane: &Arc<LaneState>, slot: Slot, ticket: &Ticket) -> Self {
        let mut preemption = Preemption::default();
        let attempts = ticket.job.attempts.saturating_sub(ticket.job.attempts_before);
        // No delivery is given up because others wait.
        let is_last = attempts.saturating_add(1) >= ticket.plan.max_attempts();
        if lane.policy == SlotPolicy::Hard && !is_last {
            preemption = Preemption::after(attempts);
            lane.preemptions.lock().insert(slot.flight(), preemption.clone());
        }
        Self { engine: engine.clone(), lane: lane.clone(), slot: Some(slot), preemption }
    }

    fn finish(mut self, outcome: Outcome) -> Option<BreakerChange> {
        let change = self.give_back(outcome);
        self.engine.dispatch(&self.lane);
        change
    }

    fn give_back(&mut self, outcome: Outcome) -> Option<BreakerChange> {
        let slot = self.slot.take()?;
        if self.lane.policy == SlotPolicy::Hard {
            self.lane.preemptions.lock().remove(&slot.flight());
        }
        let change = self.lane.queue.lock().finished(slot, outcome, self.engine.clock.now());
        if matches!(change, Some(BreakerChange::Opened { .. })) {
            self.lane.counters.breaker_openings.add(1);
        }
        change
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        if self.slot.is_some() {
            self.give_back(Outcome::NotTried);
            // Not here: when the runtime ends, it drops what is spawned at once, one within the other.
            self.lane.timer_bell.notify_one();
        }
    }
}

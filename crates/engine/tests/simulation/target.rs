//! The targets, as a carrier: each behaves as its scenario says.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gancho_domain::{Clock, Code, Failure, Verdict};
use gancho_engine::{AttemptResult, Carrier, Preemption, Terms};
use gancho_store::Job;

use crate::{
    scenario::{Behavior, Target},
    world::{Answer, LifeId, What, World},
};

pub struct SimCarrier {
    pub world: Arc<World>,
    pub clock: Arc<dyn Clock>,
    pub life: LifeId,
}

pub const TIMEOUT: Duration = Duration::from_secs(5);

#[async_trait]
impl Carrier for SimCarrier {
    fn terms(&self, job: &Job) -> Terms {
        let target = self.world.scenario.target(job.target);
        let max_in_flight = Some(target.max_in_flight);
        Terms { plan: target.plan.clone(), max_in_flight, rate: target.rate }
    }

    async fn carry(&self, job: &Job, attempt: u32, _: &Preemption) -> AttemptResult {
        let (delivery, life) = (job.delivery, self.life);
        let started = self.clock.now();
        self.world.note(What::Began { attempt, delivery, life, started });
        let target = self.world.scenario.target(job.target);
        let latency = self.latency(target);
        tokio::time::sleep(latency).await;
        let answer = self.answer(target, attempt);
        self.world.note(What::Answered { attempt, delivery, life, answer });
        match answer {
            Answer::Delivered => AttemptResult::new(Verdict::Delivered, latency),
            Answer::Retry => AttemptResult::new(
                Verdict::Retry { failure: Failure::new(Code::TIMEOUT, "slow"), not_before: None },
                latency,
            ),
            Answer::Never => AttemptResult::new(
                Verdict::Never { failure: Failure::new(Code::http(410), "gone") },
                latency,
            ),
            // Unlike a panic, this does not call the hook that would print it.
            Answer::Panic => std::panic::resume_unwind(Box::new("on purpose")),
        }
    }
}

impl SimCarrier {
    fn latency(&self, target: &Target) -> Duration {
        match self.behavior(target) {
            Behavior::Moderate => self.world.dice.millis(150, 350),
            Behavior::Slow => self.world.dice.millis(500, 4_000),
            Behavior::Hanging => TIMEOUT,
            _ => self.world.dice.millis(0, 30),
        }
    }

    /// Returns how the target behaves now. When the faults are over, targets that always fail are repaired or
    /// given up by their owners: otherwise their breakers would let one attempt out every five minutes, and
    /// the run would not end.
    fn behavior(&self, target: &Target) -> Behavior {
        let fails = matches!(
            target.behavior,
            Behavior::Hanging | Behavior::Flapping { .. } | Behavior::FailsFirst(_)
        );
        match target.behavior {
            _ if fails && self.world.is_calm() && target.in_order => Behavior::Refusing,
            _ if fails && self.world.is_calm() => Behavior::Fast,
            behavior => behavior,
        }
    }

    fn answer(&self, target: &Target, attempt: u32) -> Answer {
        match self.behavior(target) {
            Behavior::Fast | Behavior::Moderate | Behavior::Slow => Answer::Delivered,
            Behavior::Hanging => Answer::Retry,
            Behavior::FailsFirst(times) if attempt <= times => Answer::Retry,
            Behavior::Flapping { secs }
                if (self.world.clock.elapsed().as_secs() / secs) % 2 == 1 =>
            {
                Answer::Retry
            }
            Behavior::Refusing => Answer::Never,
            Behavior::Panicking if attempt == 1 => Answer::Panic,
            Behavior::FailsFirst(_) | Behavior::Flapping { .. } | Behavior::Panicking => {
                Answer::Delivered
            }
        }
    }
}

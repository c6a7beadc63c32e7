//! A process that crashes again and again gives up only the delivery that may be the cause. (faults.md 28)

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use gancho_domain::{Lane, State};
use gancho_engine::{AttemptResult, Carrier, Engine, LaneSetup, Preemption, Terms};
use gancho_store::{Job, nodes::MAX_LOST_LEASES};

use crate::stage::{Actor, Play, Stage, seconds};

/// Carries one at a time, so that all others wait while the node holds them.
struct OneAtATime(Arc<Actor>);

#[async_trait]
impl Carrier for OneAtATime {
    fn terms(&self, job: &Job) -> Terms {
        Terms { max_in_flight: Some(1), ..self.0.terms(job) }
    }

    async fn carry(&self, job: &Job, attempt: u32, preemption: &Preemption) -> AttemptResult {
        self.0.carry(job, attempt, preemption).await
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_is_on_the_wire_is_given_up() {
    let crashing = Arc::new(AtomicBool::new(true));
    let still = crashing.clone();
    let stage =
        Stage::new(
            move |_, _| {
                if still.load(Ordering::Relaxed) { Play::Take(1_000) } else { Play::Deliver }
            },
        );
    let first = stage.accept().await;
    let waiting = [stage.accept().await, stage.accept().await, stage.accept().await];
    let engine = || async {
        let mut setup = stage.setup();
        setup.lanes =
            vec![LaneSetup::new(Lane::Webhook, Arc::new(OneAtATime(stage.actor.clone())))];
        Engine::start(setup).await.expect("it starts")
    };
    for _ in 0..MAX_LOST_LEASES + 10 {
        let doomed = engine().await;
        seconds(1).await;
        doomed.abort();
        doomed.ended().await;
        // Its lease runs out.
        seconds(60).await;
    }
    crashing.store(false, Ordering::Relaxed);
    let _engine = engine().await;
    seconds(5).await;
    assert_eq!(stage.view(first).await.row.state, State::Dead, "it was tried each time");
    for id in waiting {
        assert_eq!(stage.view(id).await.row.state, State::Delivered);
    }
}

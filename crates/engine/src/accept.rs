//! Accepts parcels: stores parcels that a flow has prepared. In the same transaction it leases the deliveries
//! that this node has room for, and it queues them at once, without a claim. The others wait in the store and
//! are claimed later.
//!
//! If a parcel has very many deliveries, the store places only the first ones with the parcel and the others
//! part by part, so that other tenants get their turn in between. After a crash or an error,
//! [`crate::rescue`] places the parts that are missing.
//!
//! **Invariant.** Every delivery leased to this node is in its queue: if the work were cut short between the
//! commit and the queue, deliveries would stay leased for as long as the node lives, and no node would carry
//! them. So both run in [`Engine::run_to_completion`].

use std::{collections::BTreeMap, sync::Arc};

use gancho_domain::{Lane, RetryPlan, Time};
use gancho_store::{
    AcceptOutcome, Job, NewDelivery, NewParcel, NodeId, ParcelPart, Placement, Result, StoreError,
};
use tokio::time::Instant;

use crate::{
    Engine,
    carrier::Terms,
    lane::{LaneState, Ticket},
    recovery::{Backoff, Recovery},
    room::{Seats, Size},
    scheduler::QueueEntry,
    tail,
    write_shares::MAX_ROWS_STORING,
};

const BYTES_PER_ROW: usize = 4 << 10;

/// Where parcels come from.
#[derive(Debug, Clone, Copy)]
enum Origin {
    Caller,
    /// The store's intake.
    Intake,
}

/// Room in the queue of a lane. Freed when dropped.
struct Reservation {
    lane: Lane,
    seats: Seats,
}

impl Engine {
    /// Stores the parcels of one tenant and returns one outcome for each, in order. Queues the deliveries marked
    /// `hold` on this node if they are due and there is room. Finishes even if the caller goes away. Stores many
    /// parcels in several transactions, so that other tenants get their turn; if one fails, so do those after it.
    pub async fn accept(self: &Arc<Self>, parcels: Vec<NewParcel>) -> Vec<Result<AcceptOutcome>> {
        self.accept_from(Origin::Caller, parcels).await
    }

    /// As [`Self::accept`], for parcels from the store's intake. Their transaction removes them from it.
    pub async fn accept_intake(
        self: &Arc<Self>,
        parcels: Vec<NewParcel>,
    ) -> Vec<Result<AcceptOutcome>> {
        self.accept_from(Origin::Intake, parcels).await
    }

    async fn accept_from(
        self: &Arc<Self>,
        origin: Origin,
        parcels: Vec<NewParcel>,
    ) -> Vec<Result<AcceptOutcome>> {
        let mut answers = Vec::with_capacity(parcels.len());
        let mut failure = None;
        for AcceptBatch { parcels, rows } in in_turns(parcels) {
            let count = parcels.len();
            if failure.is_none() {
                match self.accept_turn(origin, parcels, rows).await {
                    Ok(accepted) => answers.extend(accepted.into_iter().map(Ok)),
                    Err(error) => failure = Some(error),
                }
            }
            if let Some(error) = &failure {
                answers.extend(std::iter::repeat_n(Err(error.clone()), count));
            }
        }
        answers
    }

    /// As [`Self::accept`], for one parcel.
    pub async fn accept_one(self: &Arc<Self>, new: NewParcel) -> Result<AcceptOutcome> {
        let rows = rows(&new);
        let accepted = self.accept_turn(Origin::Caller, vec![new], rows).await?.pop();
        accepted.ok_or_else(|| {
            StoreError::Corrupt("the store returned no result for an accepted parcel".into())
        })
    }

    /// Stores the parcels of one turn in one transaction.
    async fn accept_turn(
        self: &Arc<Self>,
        origin: Origin,
        mut parcels: Vec<NewParcel>,
        rows: usize,
    ) -> Result<Vec<AcceptOutcome>> {
        let Some(tenant) = parcels.first().map(|new| new.parcel.tenant) else {
            return Ok(Vec::new());
        };
        let share = self.write_shares.acquire(tenant, self.store.shard(tenant), rows).await;
        let this = self.clone();
        let work = async move {
            let stored = this.store_and_queue(origin, &mut parcels).await;
            match &stored {
                Ok(_) => this.note_acceptance(),
                Err(error) => this.note_refusal(tenant, parcels.len(), error),
            }
            let accepted = stored?;
            drop(share);
            for (new, outcome) in parcels.into_iter().zip(&accepted) {
                if let AcceptOutcome::New { number, placed } = outcome
                    && (1..new.deliveries.len()).contains(&placed.len())
                {
                    Box::pin(this.place_rest(new, *number, placed.len())).await;
                }
            }
            Ok(accepted)
        };
        let stopping = || Err(StoreError::Unavailable("the gateway is stopping".into()));
        self.run_to_completion(work).await.unwrap_or_else(stopping)
    }

    async fn store_and_queue(
        self: &Arc<Self>,
        origin: Origin,
        parcels: &mut [NewParcel],
    ) -> Result<Vec<AcceptOutcome>> {
        let member = self.membership.current().filter(|_| !self.stopping.is_cancelled());
        let reserved = self.reserve(parcels, member.is_some());
        let node = member.unwrap_or_else(|| self.node());
        let begin = Instant::now();
        let accepted = match origin {
            Origin::Caller => self.store.accept(parcels.to_vec(), node).await?,
            Origin::Intake => self.store.accept_intake(parcels.to_vec(), node).await?,
        };
        if accepted.len() != parcels.len() {
            return Err(StoreError::Corrupt(
                "the store returned no result for an accepted parcel".into(),
            ));
        }
        self.queue_leased((node, begin), reserved, parcels, &accepted);
        self.trace_accepted(parcels.iter().zip(&accepted));
        Ok(accepted)
    }

    /// Places the deliveries that the store did not place with the parcel. The parcel is accepted, so the
    /// caller does not get an error from this.
    async fn place_rest(self: &Arc<Self>, new: NewParcel, number: Option<u64>, part: usize) {
        for first in (part..new.deliveries.len()).step_by(part) {
            let end = (first + part).min(new.deliveries.len());
            let mut part = [NewParcel {
                parcel: new.parcel.clone(),
                once: None,
                ledger: None,
                deliveries: new.deliveries[first..end].to_vec(),
            }];
            let tenant = new.parcel.tenant;
            let _share =
                self.write_shares.acquire(tenant, self.store.shard(tenant), end - first).await;
            let member = self.membership.current().filter(|_| !self.stopping.is_cancelled());
            let reserved = self.reserve(&mut part, member.is_some());
            let node = member.unwrap_or_else(|| self.node());
            let [NewParcel { parcel, deliveries, .. }] = &part;
            let (parcel, deliveries) = (parcel.clone(), deliveries.clone());
            let stored = ParcelPart { parcel, number, first, deliveries };
            let Some((begin, placed)) = self.place_part(stored, node).await else { return };
            let outcome = [AcceptOutcome::New { number, placed }];
            self.queue_leased((node, begin), reserved, &part, &outcome);
        }
    }

    /// Retries until the store answers, and returns when the successful try began. Returns `None` if the part
    /// cannot be placed now.
    async fn place_part(
        self: &Arc<Self>,
        part: ParcelPart,
        node: NodeId,
    ) -> Option<(Instant, Vec<Placement>)> {
        let mut backoff = Backoff::new();
        loop {
            let begin = Instant::now();
            match self.store.place_part(part.clone(), node).await {
                Ok(placed) => return Some((begin, placed)),
                Err(error) => {
                    let may_retry = !error.is_permanent()
                        && matches!(
                            self.recovery_for("place deliveries", node, &error),
                            Recovery::Retry
                        );
                    if !may_retry {
                        let event = part.parcel.id;
                        tracing::warn!(%event, %error, "fan-out interrupted; will be finished later");
                        return None;
                    }
                }
            }
            backoff.wait().await;
        }
    }

    /// Counts what was placed, and queues the deliveries that were leased to this node.
    fn queue_leased(
        self: &Arc<Self>,
        (node, leased_at): (NodeId, Instant),
        reserved: Vec<Reservation>,
        parcels: &[NewParcel],
        accepted: &[AcceptOutcome],
    ) {
        self.count_accepted(self.clock.now(), parcels.iter().zip(accepted));
        for Reservation { lane, seats } in reserved {
            let Some(lane) = self.lane(lane) else {
                continue;
            };
            let jobs = parcels
                .iter()
                .zip(accepted)
                .flat_map(|(new, accepted)| leased(new, accepted))
                .filter(|job| job.lane == lane.lane)
                .inspect(|_| lane.counters.offered.add(1));
            self.enqueue(lane, node, leased_at, jobs, seats);
            self.dispatch(lane);
        }
    }

    /// Counts what was placed, and shows it to watchers.
    pub(crate) fn count_accepted<'a>(
        &self,
        now: Time,
        accepted: impl IntoIterator<Item = (&'a NewParcel, &'a AcceptOutcome)> + Clone,
    ) {
        self.statistics.count_accepted(now, accepted.clone());
        for (new, outcome) in accepted {
            let parcel = &new.parcel;
            self.count_withheld(new, outcome);
            if self.tails.are_watching(parcel.tenant, parcel.kind.lane()) {
                tail::accepted(now, new, outcome).for_each(|change| self.tails.publish(change));
            }
        }
    }

    /// Takes seats for the deliveries that are due and welcome, and marks them to be held. Takes none without room
    /// for all of a lane, or if this node may not hold any. Tests are always welcome: someone waits for the result.
    fn reserve(&self, parcels: &mut [NewParcel], may_hold: bool) -> Vec<Reservation> {
        let (now, max) = (self.clock.now(), self.store.max_placed());
        let mut reserved = Vec::new();
        for lane in Lane::ALL {
            let (mut targets, mut bytes) = (BTreeMap::<_, usize>::new(), 0);
            for new in parcels.iter_mut() {
                let (tenant, body) = (new.parcel.tenant, new.parcel.body.len());
                let is_test = new.parcel.is_test;
                for delivery in placed_now(new, max).filter(|new| new.lane == lane) {
                    let key = (tenant, delivery.target);
                    let before = targets.get(&key).copied().unwrap_or(0);
                    let may_come = may_hold && delivery.hold && delivery.due_at <= now;
                    delivery.hold = may_come
                        && self.lane(lane).is_some_and(|lane| {
                            is_test || lane.queue.lock().welcomes(key, before, now)
                        });
                    if delivery.hold {
                        targets.insert(key, before + 1);
                        bytes += body;
                    }
                }
            }
            if targets.is_empty() {
                continue;
            }
            let jobs = targets.values().sum();
            if let Some(seats) = self.room.take(lane, Size { jobs, bytes }) {
                reserved.push(Reservation { lane, seats });
                continue;
            }
            if let Some(lane) = self.lane(lane) {
                lane.queue.lock().refused(targets.into_keys());
            }
            let all = parcels.iter_mut().flat_map(|new| placed_now(new, max));
            all.filter(|new| new.lane == lane).for_each(|new| new.hold = false);
        }
        reserved
    }

    /// Queues deliveries. Drops those that are leased to an earlier number of this node: their lease expires.
    pub(crate) fn enqueue(
        &self,
        lane: &LaneState,
        node: NodeId,
        leased_at: Instant,
        jobs: impl IntoIterator<Item = Job>,
        mut seats: Seats,
    ) {
        if self.stopping.is_cancelled() || self.membership.last() != node {
            return;
        }
        let tickets: Vec<(Terms, Ticket)> = jobs
            .into_iter()
            .map(|job| {
                let terms = terms(lane, &job);
                let seat = seats.one(job.parcel.body.len());
                let plan = terms.plan.clone();
                (terms, Ticket::new(job, plan, node, leased_at, seat))
            })
            .collect();
        let now = self.clock.now();
        let mut queue = lane.queue.lock();
        for (terms, ticket) in tickets {
            let key = (ticket.job.tenant, ticket.job.target);
            let new = QueueEntry {
                key,
                max_in_flight: terms.max_in_flight,
                rate: terms.rate,
                bytes: ticket.job.parcel.body.len(),
                is_urgent: ticket.job.parcel.is_test,
                item: ticket,
            };
            queue.push(new, now);
        }
    }
}

/// If the carrier panics here, the delivery is tried with default terms, and the attempt shows the error.
fn terms(lane: &LaneState, job: &Job) -> Terms {
    let ask = std::panic::AssertUnwindSafe(|| lane.carrier.terms(job));
    std::panic::catch_unwind(ask).unwrap_or_else(|_| {
        lane.counters.panics.add(1);
        Terms::of(Arc::new(RetryPlan::DISPATCH))
    })
}

/// Returns the deliveries that are placed with the parcel.
fn placed_now(new: &mut NewParcel, max: usize) -> impl Iterator<Item = &mut NewDelivery> {
    let count = new.placed_at_once(max);
    new.deliveries.iter_mut().take(count)
}

/// Parcels that one transaction stores.
struct AcceptBatch {
    parcels: Vec<NewParcel>,
    rows: usize,
}

/// Splits the parcels into turns of at most [`MAX_ROWS_STORING`] rows. A parcel with more rows has a turn alone.
fn in_turns(parcels: Vec<NewParcel>) -> Vec<AcceptBatch> {
    let rows_of_all = parcels.iter().map(rows).sum();
    if rows_of_all <= MAX_ROWS_STORING {
        return vec![AcceptBatch { parcels, rows: rows_of_all }];
    }
    let mut turns: Vec<AcceptBatch> = Vec::new();
    for new in parcels {
        let rows = rows(&new);
        match turns.last_mut().filter(|turn| turn.rows + rows <= MAX_ROWS_STORING) {
            Some(turn) => {
                turn.rows += rows;
                turn.parcels.push(new);
            }
            None => turns.push(AcceptBatch { parcels: vec![new], rows }),
        }
    }
    turns
}

/// Returns the number of rows that storing the parcel takes. Large bodies count as several rows.
fn rows(new: &NewParcel) -> usize {
    1 + new.deliveries.len() + new.parcel.body.len() / BYTES_PER_ROW
}

/// Returns the jobs of the deliveries that were leased to this node.
fn leased<'a>(new: &'a NewParcel, accepted: &'a AcceptOutcome) -> impl Iterator<Item = Job> + 'a {
    let (number, placed): (_, &[Placement]) = match accepted {
        AcceptOutcome::New { number, placed } => (*number, placed),
        AcceptOutcome::Again { .. } | AcceptOutcome::Clash { .. } => (None, &[]),
    };
    let leased =
        new.deliveries.iter().zip(placed).filter(|(_, placed)| **placed == Placement::Leased);
    leased.map(move |(delivery, _)| first_job(new, delivery, number))
}

fn first_job(new: &NewParcel, delivery: &NewDelivery, number: Option<u64>) -> Job {
    let parcel = &new.parcel;
    Job {
        delivery: delivery.id,
        tenant: parcel.tenant,
        lane: delivery.lane,
        target: delivery.target,
        parcel: parcel.clone(),
        number,
        attempts: 0,
        attempts_before: 0,
        lost_leases: 0,
        is_replay: false,
        in_order: delivery.in_order && parcel.subject.is_some(),
        created_at: parcel.created_at,
    }
}

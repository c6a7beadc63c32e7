//! Runs the writes of many callers as the steps of one transaction.

use std::collections::BTreeSet;

use futures_util::try_join;
use gancho_domain::{DeliveryId, TenantId, TenantScope};
use gancho_store::{
    AcceptOutcome, NewEmailReport, NewParcel, NodeId, Placement, SettleOutcome, Settlement,
};

use crate::{
    accept::{self, BatchParcel},
    commit_rules::CommitRules,
    email_reports, ledger,
    listen::BellsToRing,
    order,
    orphaned_leases::{self, Leases},
    session::Session,
    settle::{self, NodeSettlement},
    time_buckets::{self, Bucket},
    tx_error::TxError,
};

/// A call that writes.
pub(crate) enum WriteCall {
    Accept(Vec<NewParcel>, NodeId),
    /// The same for parcels that are in the intake.
    AcceptIntake(Vec<NewParcel>, NodeId),
    Settle(NodeId, Vec<Settlement>),
    /// Releases run through here, so that a lost answer is looked into. To release the same delivery again
    /// could take it from a node that has claimed it in between, possibly this one.
    Release(Leases),
    Report(TenantScope, Box<NewEmailReport>),
}

/// The answer to a call.
pub(crate) enum CallResult {
    Accepted(Vec<AcceptOutcome>),
    Settled(Vec<SettleOutcome>),
    Released,
}

/// Runs the calls. Returns one answer for each, in order. Settlements are written first.
pub(crate) async fn run(
    session: &Session,
    calls: &[&WriteCall],
    buckets: &BTreeSet<Bucket>,
    rules: &CommitRules,
) -> Result<(Vec<CallResult>, BellsToRing), TxError> {
    let endings: Vec<NodeSettlement<'_>> = calls.iter().flat_map(|call| call.endings()).collect();
    let incoming: Vec<BatchParcel<'_>> = calls.iter().flat_map(|call| call.incoming()).collect();
    lock_order(session, &endings, &incoming).await?;
    let (written, accepted, released, ()) = try_join!(
        settle::write(session, &endings, rules.dead_letter_ttl),
        accept::write(session, &incoming, rules),
        release(session, calls),
        time_buckets::write(session, buckets)
    )?;
    let following: Vec<BatchParcel<'_>> = endings
        .iter()
        .zip(&written.held)
        .filter(|(_, held)| **held)
        .flat_map(|(ending, _)| follow(ending))
        .collect();
    let followed = match &following[..] {
        [] => Vec::new(),
        following => accept::write(session, following, rules).await?,
    };
    written.raise(session).await?;
    let moved = order::move_up(session, &written.ended).await?;
    ledger::write(session, &incoming, &accepted).await?;
    email_reports::write(session, &reports(calls, &accepted)).await?;
    let ring = BellsToRing::of(&incoming, &accepted)
        .or(BellsToRing::of(&following, &followed))
        .or(BellsToRing { here: moved || released, others: moved || released });
    Ok((answers(calls, written.held, accepted, followed), ring))
}

impl WriteCall {
    fn endings(&self) -> impl Iterator<Item = NodeSettlement<'_>> {
        let (node, settlements) = match self {
            Self::Accept(..) | Self::AcceptIntake(..) | Self::Release(_) | Self::Report(..) => {
                (NodeId(0), [].as_slice())
            }
            Self::Settle(node, settlements) => (*node, settlements.as_slice()),
        };
        settlements.iter().map(move |settlement| NodeSettlement { node, settlement })
    }

    fn incoming(&self) -> impl Iterator<Item = BatchParcel<'_>> {
        let (parcels, holder) = match self {
            Self::Accept(parcels, holder) | Self::AcceptIntake(parcels, holder) => {
                (parcels.as_slice(), *holder)
            }
            // None of a notice's deliveries is leased, so no holder is named.
            Self::Report(_, new) => (std::slice::from_ref(&new.notice), NodeId(0)),
            Self::Settle(..) | Self::Release(_) => ([].as_slice(), NodeId(0)),
        };
        let is_intake = matches!(self, Self::AcceptIntake(..));
        parcels.iter().map(move |new| BatchParcel { new, holder, is_intake })
    }

    /// Returns the buckets of every delivery that may be written, including those that follow.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = Bucket> {
        let follow = self.endings().flat_map(|ending| ending.settlement.follow.iter());
        self.incoming()
            .map(|one| one.new)
            .chain(follow)
            .flat_map(|new| new.deliveries.iter().map(|to| time_buckets::of(new.parcel.tenant, to)))
    }

    /// Returns the deliveries that the answer leases to the caller's node.
    pub(crate) fn held(&self, answer: &CallResult) -> Leases {
        let (node, parcels): (NodeId, Vec<(&NewParcel, &AcceptOutcome)>) = match (self, answer) {
            (
                Self::Accept(parcels, holder) | Self::AcceptIntake(parcels, holder),
                CallResult::Accepted(answers),
            ) => (*holder, parcels.iter().zip(answers).collect()),
            (Self::Settle(node, settlements), CallResult::Settled(answers)) => {
                let follow =
                    settlements.iter().zip(answers).flat_map(|(one, answer)| match answer {
                        SettleOutcome::Done { follow } => one.follow.iter().zip(follow),
                        SettleOutcome::LeaseLost => one.follow.iter().zip(&[]),
                    });
                (*node, follow.collect())
            }
            _ => (NodeId(0), Vec::new()),
        };
        let mut held = Vec::new();
        for (new, answer) in parcels {
            let AcceptOutcome::New { placed, .. } = answer else { continue };
            let leased =
                new.deliveries.iter().zip(placed).filter(|(_, at)| **at == Placement::Leased);
            held.extend(leased.map(|(to, _)| (new.parcel.tenant, to.id)));
        }
        (node, held)
    }

    /// Returns the number of rows and of bytes, which bound a batch.
    pub(crate) fn size(&self) -> (usize, usize) {
        let of_parcels = |parcels: &[NewParcel]| {
            parcels.iter().fold((0, 0), |(rows, bytes), new| {
                (rows + 1 + new.deliveries.len(), bytes + new.parcel.body.len())
            })
        };
        match self {
            Self::Accept(parcels, _) | Self::AcceptIntake(parcels, _) => of_parcels(parcels),
            Self::Settle(_, settlements) => settlements.iter().fold((0, 0), |sum, one| {
                let (rows, bytes) = of_parcels(&one.follow);
                let answer = one.attempt.as_ref().map_or(0, |one| one.response_body.len());
                (sum.0 + 1 + rows, sum.1 + bytes + answer)
            }),
            Self::Release((_, deliveries)) => (deliveries.len(), 0),
            Self::Report(_, new) => {
                let (rows, bytes) = of_parcels(std::slice::from_ref(&new.notice));
                (rows + 1 + new.suppress.len(), bytes)
            }
        }
    }
}

fn follow<'a>(ending: &NodeSettlement<'a>) -> impl Iterator<Item = BatchParcel<'a>> + use<'a> {
    let holder = ending.node;
    ending.settlement.follow.iter().map(move |new| BatchParcel { new, holder, is_intake: false })
}

/// Returns the reports among the calls, each with the outcome of its notice.
fn reports<'a>(
    calls: &[&'a WriteCall],
    mut accepted: &'a [AcceptOutcome],
) -> Vec<(TenantScope, &'a NewEmailReport, &'a AcceptOutcome)> {
    let mut reports = Vec::new();
    for call in calls {
        let (own, others) = accepted.split_at(call.incoming().count().min(accepted.len()));
        accepted = others;
        if let (WriteCall::Report(scope, new), [answer]) = (call, own) {
            reports.push((*scope, &**new, answer));
        }
    }
    reports
}

/// Returns whether anything was released.
async fn release(session: &Session, calls: &[&WriteCall]) -> Result<bool, TxError> {
    let mut released = false;
    for call in calls {
        if let WriteCall::Release((node, deliveries)) = call {
            released |= orphaned_leases::give_back(session, *node, deliveries).await? > 0;
        }
    }
    Ok(released)
}

/// Locks all subjects of the batch at once, so that all transactions lock them in the same order. Only if an
/// ordered delivery may end.
async fn lock_order(
    session: &Session,
    endings: &[NodeSettlement<'_>],
    incoming: &[BatchParcel<'_>],
) -> Result<(), TxError> {
    let kept: Vec<(TenantId, DeliveryId)> = endings
        .iter()
        .filter(|ending| ending.settlement.in_order)
        .map(|ending| (ending.settlement.tenant, ending.settlement.delivery))
        .collect();
    if kept.is_empty() {
        return Ok(());
    }
    let subjects: Vec<(TenantId, &str)> = incoming
        .iter()
        .copied()
        .chain(endings.iter().flat_map(follow))
        .filter_map(|one| {
            let subject = one.new.parcel.subject.as_deref()?;
            Some((one.new.parcel.tenant, subject))
        })
        .collect();
    order::lock(session, &kept, &subjects).await
}

impl BellsToRing {
    fn of(incoming: &[BatchParcel<'_>], accepted: &[AcceptOutcome]) -> Self {
        let mut ring = Self::default();
        for (one, answer) in incoming.iter().zip(accepted) {
            let AcceptOutcome::New { placed, .. } = answer else {
                continue;
            };
            for (to, placed) in one.new.deliveries.iter().zip(placed) {
                ring.here |= *placed == Placement::Pending;
                ring.others |=
                    *placed == Placement::Pending && to.due_at <= one.new.parcel.created_at;
            }
        }
        ring
    }

    pub(crate) const fn or(self, other: Self) -> Self {
        Self { here: self.here || other.here, others: self.others || other.others }
    }
}

/// Distributes the results to their calls.
fn answers(
    calls: &[&WriteCall],
    held: Vec<bool>,
    accepted: Vec<AcceptOutcome>,
    followed: Vec<AcceptOutcome>,
) -> Vec<CallResult> {
    let mut held = held.into_iter();
    let mut accepted = accepted.into_iter();
    let mut followed = followed.into_iter();
    calls
        .iter()
        .map(|call| match call {
            WriteCall::Accept(parcels, _) | WriteCall::AcceptIntake(parcels, _) => {
                CallResult::Accepted(accepted.by_ref().take(parcels.len()).collect())
            }
            WriteCall::Settle(_, settlements) => CallResult::Settled(
                settlements
                    .iter()
                    .zip(held.by_ref())
                    .map(|(one, held)| {
                        if held {
                            let follow = followed.by_ref().take(one.follow.len()).collect();
                            SettleOutcome::Done { follow }
                        } else {
                            SettleOutcome::LeaseLost
                        }
                    })
                    .collect(),
            ),
            WriteCall::Report(..) => CallResult::Accepted(accepted.by_ref().take(1).collect()),
            WriteCall::Release(_) => CallResult::Released,
        })
        .collect()
}

//! Settling: in the cell of the tenant, if it is the one of the lease. What follows for the same cell is in the same transaction.
//!
//! What follows for a tenant of another cell, as a notice to the operator, is accepted there first, once under a key of
//! its own: if the settlement fails after that, it comes again with the next try and is found to be there. A cell that
//! does not answer does not hold up the settlement: then that notice is dropped, and the log says so.

use std::{collections::HashMap, time::Duration};

use async_trait::async_trait;
use futures_util::future::join_all;
use gancho_domain::{ParcelId, Time};
use gancho_store::{
    Accept, AcceptOutcome, IdempotencyKey, NewParcel, NodeId, Result, Settle, SettleOutcome,
    Settlement, StoreError,
};

use crate::{
    CellStore,
    accept::in_parts,
    cell::{Cell, TIMEOUT},
};

/// How long a notice is distinguished from one that comes again.
const ONCE_WITHIN: Duration = Duration::from_hours(24);

/// The outcome of what was accepted in another cell, by its place in `follow`.
type OtherCellOutcomes = HashMap<usize, AcceptOutcome>;

#[async_trait]
impl Settle for CellStore {
    async fn settle(
        &self,
        node: NodeId,
        settlements: Vec<Settlement>,
    ) -> Result<Vec<SettleOutcome>> {
        let parts = self.by_cell(settlements, |one| one.tenant).await?;
        in_parts(parts, |cell, settlements| async move {
            let store = cell.store()?;
            let number = self.number_in(&cell, node);
            if self.is_alone() {
                return cell.noted(store.settle(number, settlements).await);
            }
            let is_held = |one: &Settlement| !self.has_lost(&cell, node, one.tenant, one.leased_at);
            let held: Vec<bool> = settlements.iter().map(is_held).collect();
            let settlements =
                held.iter().zip(settlements).filter_map(|(held, one)| held.then_some(one));
            let (settlements, foreign) =
                Box::pin(self.send_foreign(&cell, settlements.collect())).await?;
            let settled = cell.noted(store.settle(number, settlements).await)?;
            let mut settled =
                settled.into_iter().zip(foreign).map(|(one, foreign)| joined(one, foreign));
            let outcome = |held: bool| held.then(|| settled.next()).flatten();
            let lost = SettleOutcome::LeaseLost;
            Ok(held.into_iter().map(outcome).map(|one| one.unwrap_or(lost.clone())).collect())
        })
        .await
    }
}

impl CellStore {
    /// Accepts what follows elsewhere, and returns the settlements without it.
    async fn send_foreign(
        &self,
        cell: &Cell,
        settlements: Vec<Settlement>,
    ) -> Result<(Vec<Settlement>, Vec<OtherCellOutcomes>)> {
        let (mut own, mut outcomes) = (Vec::new(), Vec::new());
        for mut settlement in settlements {
            let (mut here, mut elsewhere) = (Vec::new(), Vec::new());
            let follow = self.not_held(std::mem::take(&mut settlement.follow));
            for (place, new) in follow.into_iter().enumerate() {
                let to = self.cell_of(new.parcel.tenant).await;
                match to {
                    Ok(to) if to.number == cell.number => here.push(new),
                    Ok(to) => elsewhere.push((place, to, new)),
                    Err(error) => dropped(&new, &error),
                }
            }
            let at = settlement.at;
            let sent = elsewhere
                .into_iter()
                .map(|(place, to, new)| async move { (place, self.send_to(&to, new, at).await) });
            let sent = join_all(sent).await;
            settlement.follow = here;
            own.push(settlement);
            outcomes
                .push(sent.into_iter().filter_map(|(place, sent)| Some((place, sent?))).collect());
        }
        Ok((own, outcomes))
    }

    async fn send_to(&self, cell: &Cell, new: NewParcel, at: Time) -> Option<AcceptOutcome> {
        let id = new.parcel.id;
        let key = IdempotencyKey::of_key(&[Some(b"follow"), Some(&id.bytes())], at + ONCE_WITHIN);
        let keyed = NewParcel { once: new.once.or(Some(key)), ..new.clone() };
        let accepted = match cell.store() {
            // Nothing of it is leased, so that it has no holder.
            Ok(store) => {
                let accepting = store.accept(vec![keyed], NodeId(0));
                let slow = |_| Err(StoreError::Unavailable("it does not answer".into()));
                let accepted = tokio::time::timeout(TIMEOUT, accepting).await;
                cell.noted(accepted.unwrap_or_else(slow))
            }
            Err(error) => Err(error),
        };
        match accepted {
            Ok(mut outcomes) => outcomes.pop().map(|outcome| first_time(outcome, id)),
            Err(error) => {
                dropped(&new, &error);
                None
            }
        }
    }
}

/// One that was there already by an earlier try is as new as it was then.
fn first_time(outcome: AcceptOutcome, id: ParcelId) -> AcceptOutcome {
    match outcome {
        AcceptOutcome::Again { first } if first == id => {
            AcceptOutcome::New { number: None, placed: Vec::new() }
        }
        other => other,
    }
}

fn dropped(new: &NewParcel, error: &StoreError) {
    let event_type = &*new.parcel.event_type;
    tracing::warn!(event_type, %error, "notice dropped: its cell does not answer");
}

/// The outcomes of what followed, here and elsewhere, in order.
fn joined(outcome: SettleOutcome, mut foreign: OtherCellOutcomes) -> SettleOutcome {
    match outcome {
        SettleOutcome::Done { follow } if !foreign.is_empty() => {
            let total = follow.len() + foreign.len();
            let mut here = follow.into_iter();
            let next = |place| foreign.remove(&place).or_else(|| here.next());
            SettleOutcome::Done { follow: (0..total).filter_map(next).collect() }
        }
        other => other,
    }
}

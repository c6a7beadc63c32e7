//! Sends a page of dead letters to another endpoint of their tenant.
//!
//! Each becomes a new delivery there. Its dead letter is removed after the new delivery is stored; if that
//! fails as well, it becomes a dead letter of its own. So none is lost, and a second replay sends none twice.

use gancho_domain::{EndpointId, Lane, State, TenantScope, Time};
use gancho_store::{DeadFilter, DeadLetter, ListOrder, NewDelivery, PageRequest, Result};

use super::{
    Replay, Replays,
    codec::Cursor,
    count::dead_filter,
    page::{ItemResult, PageResult, active, send},
};
use crate::{Owner, registry::Targets};

/// The outcome of redirecting a dead letter to another endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectOutcome {
    Sent,
    /// The tenant has no such endpoint.
    UnknownEndpoint,
    /// The endpoint is disabled.
    Disabled,
    /// The dead letter is of another lane, is being replayed, or its event was removed.
    NotPossible,
}

impl Replays {
    /// Sends one dead letter to another endpoint of its tenant, at once.
    pub async fn redirect(&self, letter: &DeadLetter, to: EndpointId) -> Result<RedirectOutcome> {
        let scope = TenantScope::internal(letter.tenant);
        match self.store.endpoint(scope, to).await? {
            None => return Ok(RedirectOutcome::UnknownEndpoint),
            Some(endpoint) if !endpoint.is_active => return Ok(RedirectOutcome::Disabled),
            Some(_) if letter.lane != Lane::Webhook => return Ok(RedirectOutcome::NotPossible),
            Some(_) => {}
        }
        let targets = self.registry.of(letter.tenant).await?;
        let sent = self.redirect_letter(&targets, scope, letter, to, self.clock.now()).await?;
        Ok(match sent {
            ItemResult::Done(_) => RedirectOutcome::Sent,
            ItemResult::Skipped | ItemResult::Failed => RedirectOutcome::NotPossible,
        })
    }

    pub(super) async fn redirect_dead(
        &self,
        owner: Owner,
        replay: &Replay,
        (scope, to): (TenantScope, EndpointId),
        cursor: &Cursor,
        max: usize,
    ) -> Result<PageResult> {
        let page = PageRequest::new(max, cursor.place()?).in_order(ListOrder::OldestFirst);
        let found = self.store.dead_letters(dead_filter(owner, replay), page).await?;
        let mut sent = PageResult { next: found.next.map(Cursor::after), ..PageResult::default() };
        let targets = self.registry.of(scope.tenant()).await?;
        for letter in found.rows {
            let since = replay.created_at;
            let result = self.redirect_letter(&targets, scope, &letter, to, since).await?;
            sent.add(scope.tenant(), result);
        }
        Ok(sent)
    }

    async fn redirect_letter(
        &self,
        targets: &Targets,
        scope: TenantScope,
        letter: &DeadLetter,
        to: EndpointId,
        since: Time,
    ) -> Result<ItemResult> {
        let view = self.store.delivery(scope, letter.delivery).await?;
        // A dead letter that is being replayed already is skipped.
        let is_dead = view.is_some_and(|view| view.row.state == State::Dead);
        if !is_dead || active(targets, to).is_none() {
            return Ok(ItemResult::Skipped);
        }
        if letter.target == to {
            return self.arm_letter(letter).await;
        }
        let delivery = Some(self.delivery(targets, to));
        self.send_letter(scope, letter, delivery, since).await
    }

    /// Sends the event of a dead letter. The endpoint gets an event once, even if several of its deliveries
    /// are dead, or if a runner died before it recorded the page.
    async fn send_letter(
        &self,
        scope: TenantScope,
        letter: &DeadLetter,
        delivery: Option<NewDelivery>,
        since: Time,
    ) -> Result<ItemResult> {
        let sent = send(self.store.clone(), scope, letter.parcel, delivery, Some(since)).await?;
        if let ItemResult::Done(_) = sent {
            self.store.purge_dead(only(letter), 1).await?;
        }
        Ok(sent)
    }

    /// Retries a dead letter that already goes to this endpoint.
    async fn arm_letter(&self, letter: &DeadLetter) -> Result<ItemResult> {
        let now = self.clock.now();
        let retried = self.store.replay_dead(only(letter), 1, None, now).await?.retried;
        let id = letter.delivery;
        Ok(if retried.is_empty() { ItemResult::Skipped } else { ItemResult::Done(id) })
    }
}

fn only(letter: &DeadLetter) -> DeadFilter {
    let (tenant, delivery) = (Some(letter.tenant), Some(letter.delivery));
    DeadFilter { tenant, delivery, ..DeadFilter::default() }
}

//! Tracks how far a walk over the targets has come, over several claims.
//!
//! A claim scans a bounded number of targets, so a round over all of them may take several claims. The round
//! that counts for [`ClaimResult::caught_up`](crate::ClaimResult) begins after the last tenant that had to
//! leave something. It is complete when the walk has passed that tenant's turn again and nothing was left on
//! the way.
//!
//! A *lap* runs at the same time, and ends when every tenant has had a turn, whatever was left. It shows
//! which tenants have nothing more, long before the backlog of others is empty.

use std::collections::BTreeSet;

use gancho_domain::TenantId;

use crate::{ClaimCursor, TargetId};

/// The progress of a claim in the round and the lap.
#[derive(Debug)]
pub struct ClaimProgress {
    pub round: ClaimRound,
    lap: ClaimRound,
    /// The tenants that had to leave something due.
    pub left: BTreeSet<TenantId>,
}

impl ClaimProgress {
    /// Continues the round and the lap of the cursor.
    pub fn resume(cursor: &mut ClaimCursor) -> Self {
        let from = cursor.turn.map_or(cursor.tenant, |turn| Some(turn.tenant));
        let begin = ClaimRound::after(from);
        let round = cursor.round.take().unwrap_or(begin);
        Self { round, lap: cursor.lap.take().unwrap_or(begin), left: BTreeSet::new() }
    }

    /// Notes that something due was left in this tenant's turn.
    pub fn leave(&mut self, tenant: TenantId) {
        self.round.leave(tenant);
        self.left.insert(tenant);
    }

    /// Notes that every tenant up to this one has had its turn.
    pub fn reach(&mut self, tenant: TenantId) {
        self.round.reach(tenant);
        self.lap.reach(tenant);
    }

    /// Notes that every tenant to the last has had its turn: the walk continues with the first.
    pub fn wrap(&mut self) {
        self.round.wrap();
        self.lap.wrap();
    }

    pub fn is_caught_up(&self) -> bool {
        self.round.is_complete()
    }

    /// Whether the lap is complete. If not, the cursor stores it for the next claim.
    pub fn end_lap(&self, cursor: &mut ClaimCursor) -> bool {
        cursor.lap = (!self.lap.is_complete()).then_some(self.lap);
        self.lap.is_complete()
    }
}

/// The tenants that have had a full turn, one after the other, without leaving anything due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimRound {
    /// The tenant after whose turn the round began. `None`: it began before the first of all.
    from: Option<TenantId>,
    /// Whether the walk has since passed the last tenant and continued with the first.
    wrapped: bool,
    complete: bool,
}

impl ClaimRound {
    /// Starts a round after this tenant, or before the first.
    pub fn after(from: Option<TenantId>) -> Self {
        Self { from, wrapped: from.is_none(), complete: false }
    }

    /// Notes that something due was left in this tenant's turn.
    pub fn leave(&mut self, tenant: TenantId) {
        *self = Self::after(Some(tenant));
    }

    /// Notes that every tenant up to this one has had its turn.
    pub fn reach(&mut self, tenant: TenantId) {
        self.complete |= self.wrapped && self.from.is_some_and(|from| from <= tenant);
    }

    /// Notes that every tenant to the last has had its turn: the walk continues with the first.
    pub fn wrap(&mut self) {
        self.complete |= self.wrapped;
        self.wrapped = true;
    }

    pub fn is_complete(&self) -> bool {
        self.complete
    }
}

/// A tenant's turn that was interrupted because the claim had scanned the maximum number of targets. The next
/// claim starts with the rest of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimTurn {
    pub tenant: TenantId,
    /// The target after which the turn began; `None`: the first.
    pub from: Option<TargetId>,
    /// The last target that was scanned; `None`: none, or the turn continues with the first.
    pub at: Option<TargetId>,
    /// Whether the turn has passed the tenant's last target and continued with the first.
    pub wrapped: bool,
}

impl ClaimTurn {
    pub fn after(tenant: TenantId, from: Option<TargetId>) -> Self {
        Self { tenant, from, at: from, wrapped: from.is_none() }
    }

    /// Whether the turn, at this target, has visited all of the tenant's targets.
    pub fn ends_before(&self, target: TargetId) -> bool {
        self.wrapped && self.from.is_some_and(|from| target > from)
    }
}

#[cfg(test)]
mod tests {
    use gancho_domain::Id;

    use super::*;

    fn tenant(number: u128) -> TenantId {
        Id::from_bits(number)
    }

    #[test]
    fn a_round_from_the_beginning_ends_with_the_last_tenant() {
        let mut round = ClaimRound::after(None);
        round.reach(tenant(1));
        round.reach(tenant(9));
        assert!(!round.is_complete(), "there may be more tenants");
        round.wrap();
        assert!(round.is_complete());
    }

    #[test]
    fn a_round_from_the_middle_ends_where_it_began() {
        let mut round = ClaimRound::after(Some(tenant(5)));
        round.reach(tenant(7));
        round.wrap();
        round.reach(tenant(4));
        assert!(!round.is_complete());
        round.reach(tenant(5));
        assert!(round.is_complete());
    }

    #[test]
    fn a_tenant_that_has_gone_does_not_prolong_the_round() {
        let mut round = ClaimRound::after(Some(tenant(5)));
        round.wrap();
        round.reach(tenant(6));
        assert!(round.is_complete(), "the walk has passed its place");
        let mut round = ClaimRound::after(Some(tenant(5)));
        round.wrap();
        round.reach(tenant(4));
        round.wrap();
        assert!(round.is_complete(), "the walk has come to the end again");
    }

    #[test]
    fn what_is_left_begins_the_round_again() {
        let mut round = ClaimRound::after(None);
        round.leave(tenant(3));
        round.wrap();
        round.reach(tenant(2));
        assert!(!round.is_complete());
        round.leave(tenant(3));
        round.wrap();
        assert!(!round.is_complete(), "the tenant left something again");
        round.reach(tenant(3));
        assert!(round.is_complete());
    }
}

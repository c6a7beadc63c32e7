//! Ages in-flight attempts: a slow attempt gives up its slot, and moves its target to a slower pool.

use gancho_domain::{TenantId, Time};

use super::{Key, Pool, Scheduler, SlotPolicy, flights::FlightId, history::Age};

impl<T> Scheduler<T> {
    /// Moves on what has been out for too long.
    pub(super) fn age(&mut self, now: Time) {
        match self.limits.policy {
            SlotPolicy::ByLatency => {}
            SlotPolicy::Hard => return self.age_hard(now),
            SlotPolicy::HardUnsorted => return,
        }
        while let Some((id, age)) = self.flights.next_overdue(now) {
            let Some(flight) = self.flights.get_mut(id) else {
                continue;
            };
            let (key, from) = (flight.key, flight.pool);
            let Some(line) = self.targets.get_mut(&key) else {
                continue;
            };
            line.history.overdue(age);
            let to = match (age, line.history.pool()) {
                (Age::TooLate, _) | (_, Pool::Troubled) => Pool::Troubled,
                (Age::Slow, _) => from.max(Pool::Slow),
                (Age::Late, _) => from.max(Pool::Moderate),
                (Age::NotQuick, _) => from.max(Pool::Prompt),
            };
            self.move_flight(id, to);
            self.place(key, now);
        }
    }

    pub(super) fn move_flight(&mut self, id: FlightId, to: Pool) {
        let Some(flight) = self.flights.get_mut(id) else {
            return;
        };
        let (key, from) = (flight.key, std::mem::replace(&mut flight.pool, to));
        self.leave_pool(key.0, from);
        self.join_pool(key, to);
    }

    pub(super) fn leave_pool(&mut self, tenant: TenantId, pool: Pool) {
        let out = &mut self.pools[pool].in_flight;
        *out = out.saturating_sub(1);
        if let Some(owner) = self.tenants.get_mut(&tenant) {
            let mine = owner.of_mut(pool);
            mine.in_flight = mine.in_flight.saturating_sub(1);
        }
    }

    fn join_pool(&mut self, key: Key, pool: Pool) {
        self.pools[pool].in_flight += 1;
        if let Some(owner) = self.tenants.get_mut(&key.0) {
            owner.of_mut(pool).in_flight += 1;
        }
    }
}

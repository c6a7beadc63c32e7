//! Attempts on the wire, by age: which of them have been out for too long to keep their slot.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use gancho_domain::{Time, pace::SLOW};

use super::{
    Key,
    history::Age,
    pool::{MODERATE, PROMPT, Pool, QUICK},
};

/// One attempt on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Flight {
    pub key: Key,
    /// The pool that it counts in now.
    pub pool: Pool,
    pub started: Time,
}

/// Never reused.
pub type FlightId = u64;

#[derive(Debug, Default)]
pub struct Flights {
    next: FlightId,
    out: BTreeMap<FlightId, Flight>,
    /// By the age they reach next, in order of their start; those that ended are dropped when they come to
    /// the front.
    lines: [VecDeque<(Time, FlightId)>; AGES.len()],
}

const AGES: [(Age, Duration); 4] =
    [(Age::NotQuick, QUICK), (Age::Late, PROMPT), (Age::Slow, MODERATE), (Age::TooLate, SLOW)];

impl Flights {
    pub fn start(&mut self, flight: Flight) -> FlightId {
        let id = self.next;
        self.next += 1;
        self.out.insert(id, flight);
        self.lines[0].push_back((flight.started, id));
        id
    }

    pub fn end(&mut self, id: FlightId) -> Option<Flight> {
        let flight = self.out.remove(&id);
        for line in &mut self.lines {
            drop_ended(&self.out, line);
        }
        flight
    }

    /// Returns the next attempt that has reached an age since the last call.
    pub fn next_overdue(&mut self, now: Time) -> Option<(FlightId, Age)> {
        for (place, (age, after)) in AGES.into_iter().enumerate() {
            let Some((started, id)) = pop_due(&mut self.lines[place], after, now) else {
                continue;
            };
            if let Some(next) = self.lines.get_mut(place + 1) {
                next.push_back((started, id));
            }
            drop_ended(&self.out, &mut self.lines[place]);
            return Some((id, age));
        }
        None
    }

    /// The attempts on the wire, in order of their start.
    pub fn oldest(&self) -> impl Iterator<Item = (FlightId, &Flight)> {
        self.out.iter().map(|(id, flight)| (*id, flight))
    }

    pub fn get_mut(&mut self, id: FlightId) -> Option<&mut Flight> {
        self.out.get_mut(&id)
    }

    /// When the next attempt reaches an age.
    pub fn next_at(&self) -> Option<Time> {
        let next = self.lines.iter().zip(AGES);
        next.filter_map(|(line, (_, after))| Some(line.front()?.0 + after)).min()
    }

    /// The clock went back: treats attempts on the wire as started now.
    pub fn restart(&mut self, now: Time) {
        let of_lines = self.lines.iter_mut().flatten().map(|(started, _)| started);
        let of_flights = self.out.values_mut().map(|flight| &mut flight.started);
        of_lines.chain(of_flights).for_each(|started| *started = now.min(*started));
    }

    #[cfg(test)]
    pub fn in_pool(&self, pool: Pool) -> usize {
        self.out.values().filter(|flight| flight.pool == pool).count()
    }
}

/// Ids only rise within a line, so that whatever ended is found at the front sooner or later.
fn drop_ended(out: &BTreeMap<FlightId, Flight>, line: &mut VecDeque<(Time, FlightId)>) {
    while line.front().is_some_and(|(_, id)| !out.contains_key(id)) {
        line.pop_front();
    }
}

fn pop_due(
    line: &mut VecDeque<(Time, FlightId)>,
    age: Duration,
    now: Time,
) -> Option<(Time, FlightId)> {
    line.pop_front_if(|(started, _)| now.since(*started) >= age)
}

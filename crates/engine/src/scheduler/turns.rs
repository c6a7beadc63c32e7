//! Who takes the next turn, among those that share something.
//!
//! Each turn is charged with the time for which it is expected to hold what is shared. The next turn is of the
//! one that has had least of it: a member that is always here gets an equal part, in turns if all cost the same,
//! and one that comes for less than its part does not wait behind those that want more (start-time fair
//! queueing). Nobody saves up: who was away begins where the others are.

use std::{collections::BTreeMap, time::Duration};

/// Who has used more than the others by this much waits no longer for that.
const MAX_DEBT: Duration = Duration::from_mins(1);

/// The time that a member has used, on the scale of the [`Turns`] it takes. Kept while it is away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsedTime(u64);

/// A place in line. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TurnPlace {
    had: UsedTime,
    /// It has had its part so far. One that has had less goes before those that are level with it.
    is_level: bool,
    number: u64,
}

#[derive(Debug)]
pub struct Turns<T> {
    line: BTreeMap<TurnPlace, T>,
    next: u64,
    /// Where the last one stood that was served.
    now: UsedTime,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self { line: BTreeMap::new(), next: 0, now: UsedTime::default() }
    }
}

impl UsedTime {
    pub fn after(self, cost: Duration) -> Self {
        Self(self.0.saturating_add(cost.as_micros() as u64))
    }
}

impl TurnPlace {
    /// What its holder has had after a turn that costs this much.
    pub fn after(self, cost: Duration) -> UsedTime {
        self.had.after(cost)
    }
}

impl<T: Copy> Turns<T> {
    pub fn join(&mut self, who: T, had: UsedTime) -> TurnPlace {
        let is_level = had >= self.now;
        let had = had.clamp(self.now, self.now.after(MAX_DEBT));
        let place = TurnPlace { had, is_level, number: self.next };
        self.next += 1;
        self.line.insert(place, who);
        place
    }

    pub fn leave(&mut self, place: TurnPlace) {
        self.line.remove(&place);
    }

    /// The one in this place is served.
    pub fn serve(&mut self, place: TurnPlace) {
        self.now = self.now.max(place.had);
    }

    pub fn front(&self) -> Option<T> {
        self.line.values().next().copied()
    }

    pub fn second(&self) -> Option<T> {
        self.line.values().nth(1).copied()
    }

    pub fn len(&self) -> usize {
        self.line.len()
    }

    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_millis(10);

    /// Serves this often, each member for its cost, and returns who was served.
    fn serve(
        turns: &mut Turns<char>,
        places: &mut BTreeMap<char, TurnPlace>,
        count: usize,
    ) -> String {
        let cost = |who: char| if who.is_uppercase() { LONG } else { SHORT };
        let next = |_| {
            let who = turns.front().unwrap();
            let place = places[&who];
            turns.serve(place);
            turns.leave(place);
            places.insert(who, turns.join(who, place.after(cost(who))));
            who
        };
        (0..count).map(next).collect()
    }

    fn joined(turns: &mut Turns<char>, who: &str) -> BTreeMap<char, TurnPlace> {
        who.chars().map(|who| (who, turns.join(who, UsedTime::default()))).collect()
    }

    #[test]
    fn equal_costs_take_equal_turns() {
        let mut turns = Turns::default();
        let mut places = joined(&mut turns, "abc");
        assert_eq!(serve(&mut turns, &mut places, 7), "abcabca");
        turns.leave(places[&'b']);
        assert_eq!((turns.front(), turns.second(), turns.len()), (Some('c'), Some('a'), 2));
    }

    #[test]
    fn a_short_turn_is_charged_less_than_a_long_one() {
        let mut turns = Turns::default();
        let mut places = joined(&mut turns, "ABc");
        let served = serve(&mut turns, &mut places, 120);
        let count = |who: char| served.matches(who).count();
        assert_eq!((count('A'), count('B'), count('c')), (10, 10, 100));
    }

    #[test]
    fn one_that_has_used_very_much_waits_a_bounded_time() {
        let mut turns = Turns::default();
        let mut places = joined(&mut turns, "AB");
        let used = UsedTime::default().after(Duration::from_hours(12));
        places.insert('z', turns.join('z', used));
        // A minute of the others' turns, which take ten milliseconds each.
        assert_eq!(serve(&mut turns, &mut places, 12_000).matches('z').count(), 0);
        assert!(serve(&mut turns, &mut places, 10).contains('z'));
    }

    #[test]
    fn one_that_comes_for_little_goes_first_and_saves_up_nothing() {
        let mut turns = Turns::default();
        let mut places = joined(&mut turns, "ABCDEFGH");
        serve(&mut turns, &mut places, 100);
        places.insert('z', turns.join('z', UsedTime::default()));
        // It was away for a hundred turns. It is next, and gets its part from then on, not more.
        let served = serve(&mut turns, &mut places, 33);
        assert!(served.starts_with('z'));
        assert!(served.matches('z').count() <= 25, "{served}");
        for who in 'A'..='H' {
            assert!(served.contains(who), "{served}");
        }
    }
}

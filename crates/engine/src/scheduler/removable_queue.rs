//! A queue that members can also leave from the middle.
//!
//! A place is a number that only rises, so the line is in order of arrival and the same on every
//! run.

use std::collections::BTreeMap;

/// A position in a [`RemovableQueue`]. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueuePosition(u64);

#[derive(Debug)]
pub struct RemovableQueue<T> {
    line: BTreeMap<QueuePosition, T>,
    next: u64,
}

impl<T> Default for RemovableQueue<T> {
    fn default() -> Self {
        Self { line: BTreeMap::new(), next: 0 }
    }
}

impl<T: Copy> RemovableQueue<T> {
    pub fn push_back(&mut self, who: T) -> QueuePosition {
        let place = QueuePosition(self.next);
        self.next += 1;
        self.line.insert(place, who);
        place
    }

    pub fn remove(&mut self, place: QueuePosition) {
        self.line.remove(&place);
    }

    pub fn pop_front(&mut self) -> Option<T> {
        self.line.pop_first().map(|(_, who)| who)
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.line.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_order_of_arrival_when_one_leaves() {
        let mut ring = RemovableQueue::default();
        let places = ['a', 'b', 'c'].map(|who| ring.push_back(who));
        ring.remove(places[1]);
        assert_eq!(ring.len(), 2);
        ring.push_back('b');
        let order: Vec<char> = std::iter::from_fn(|| ring.pop_front()).collect();
        assert_eq!(order, ['a', 'c', 'b']);
    }
}

//! Messages that a channel has not accepted yet. If a newer message is about the same alert, an older one
//! does not mention it, so that no "firing" arrives after its "resolved". The node that evaluates also stores
//! them, for the next node that evaluates.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use gancho_domain::Time;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::{Change, Channel, Message, Rule};

/// Maximum attempts to send a message. With the doubling delay between them they take about an hour.
const MAX_ATTEMPTS: u32 = 10;
const FIRST_DELAY: Duration = Duration::from_secs(5);
/// Maximum messages of a channel. Beyond it the oldest is dropped.
const MAX_UNSENT: usize = 100;
/// The number of messages for which the last message about each alert is remembered. More messages than are
/// created while one is retried.
const MAX_REMEMBERED: u64 = 1_000;

/// Returns how long to wait after this number of failed attempts; `None` if the message is given up.
pub fn retry_delay(attempts: u32) -> Option<Duration> {
    (attempts < MAX_ATTEMPTS).then(|| FIRST_DELAY * 2_u32.pow(attempts.saturating_sub(1)))
}

#[derive(Clone)]
pub(crate) struct QueuedMessage {
    pub channel: Arc<dyn Channel>,
    message: Arc<Message>,
    /// Later messages have higher numbers.
    number: u64,
    pub attempts: u32,
    due: Instant,
    /// Whether it is being sent. It stays in the outbox meanwhile, so that it is stored.
    is_in_flight: bool,
}

/// A message in its stored form, with the names of the channels that have not accepted it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredMessage {
    id: String,
    at_us: i64,
    changes: Vec<Change>,
    channels: Vec<String>,
}

#[derive(Default)]
pub(crate) struct Outbox {
    unsent: VecDeque<QueuedMessage>,
    /// Whether a message was added or removed since they were last stored.
    pub is_changed: bool,
    count: u64,
    /// The last message about each alert.
    latest: HashMap<(Rule, String), u64>,
}

impl Outbox {
    pub fn push(&mut self, channels: &[Arc<dyn Channel>], message: Message) {
        self.is_changed = true;
        self.count += 1;
        let oldest = self.count.saturating_sub(MAX_REMEMBERED);
        self.latest.retain(|_, number| *number >= oldest);
        let (message, due, number) = (Arc::new(message), Instant::now(), self.count);
        self.latest.extend(message.changes.iter().map(|change| (key(change), number)));
        for channel in channels {
            self.limit(&**channel);
            let (channel, message) = (channel.clone(), message.clone());
            let queued =
                QueuedMessage { channel, message, number, attempts: 0, due, is_in_flight: false };
            self.unsent.push_back(queued);
        }
    }

    /// Makes room for a message of this channel.
    fn limit(&mut self, channel: &dyn Channel) {
        let is_of = |unsent: &&QueuedMessage| unsent.channel.name() == channel.name();
        if self.unsent.iter().filter(is_of).count() < MAX_UNSENT {
            return;
        }
        let oldest = self.unsent.iter().position(|unsent| is_of(&unsent) && !unsent.is_in_flight);
        if let Some(place) = oldest {
            self.unsent.remove(place);
        }
    }

    /// Returns the messages of a channel that are due. Each is then passed to [`Outbox::start`].
    pub fn due(&self, channel: &dyn Channel, now: Instant) -> Vec<QueuedMessage> {
        let is_due = |unsent: &&QueuedMessage| {
            unsent.channel.name() == channel.name() && !unsent.is_in_flight && unsent.due <= now
        };
        self.unsent.iter().filter(is_due).cloned().collect()
    }

    /// Marks a message as being sent, and returns the part of it that is up to date. `None` if there is none, or if
    /// the message was removed. Every message that is returned is then removed or put back.
    pub fn start(&mut self, unsent: &QueuedMessage) -> Option<Message> {
        let place = self.place(unsent)?;
        if self.unsent[place].is_in_flight {
            return None;
        }
        let current = self.current(&self.unsent[place]);
        if current.is_some() {
            self.unsent[place].is_in_flight = true;
        } else {
            self.remove(unsent);
        }
        current
    }

    /// Removes a message that was sent, is outdated, or is given up.
    pub fn remove(&mut self, unsent: &QueuedMessage) {
        if let Some(place) = self.place(unsent) {
            self.unsent.remove(place);
            self.is_changed = true;
        }
    }

    fn place(&self, unsent: &QueuedMessage) -> Option<usize> {
        self.unsent.iter().position(|one| {
            one.number == unsent.number && one.channel.name() == unsent.channel.name()
        })
    }

    /// Returns the part of the message that no later one supersedes; `None` if all of it is outdated.
    pub fn current(&self, unsent: &QueuedMessage) -> Option<Message> {
        let is_latest = |change: &&Change| {
            self.latest.get(&key(change)).is_none_or(|latest| *latest <= unsent.number)
        };
        let changes: Vec<Change> =
            unsent.message.changes.iter().filter(is_latest).cloned().collect();
        let Message { id, at, .. } = *unsent.message;
        (!changes.is_empty()).then_some(Message { id, at, changes })
    }

    /// Keeps a message for another attempt after one that failed. Returns whether it is retried.
    pub fn put_back(&mut self, unsent: &QueuedMessage, now: Instant) -> bool {
        let attempts = unsent.attempts + 1;
        let Some(delay) = retry_delay(attempts) else {
            self.remove(unsent);
            return false;
        };
        // Another node sends it if it was removed.
        let Some(mut queued) = self.place(unsent).and_then(|place| self.unsent.remove(place))
        else {
            return false;
        };
        (queued.attempts, queued.due, queued.is_in_flight) = (attempts, now + delay, false);
        self.unsent.push_back(queued);
        true
    }

    /// Returns what must be stored, oldest message first.
    pub fn stored(&self) -> Vec<StoredMessage> {
        let mut messages: BTreeMap<u64, StoredMessage> = BTreeMap::new();
        for QueuedMessage { channel, message, number, .. } in &self.unsent {
            let stored = messages.entry(*number).or_insert_with(|| StoredMessage {
                id: message.id.to_string(),
                at_us: message.at.micros(),
                changes: message.changes.clone(),
                channels: Vec::new(),
            });
            stored.channels.push(channel.name().to_owned());
        }
        messages.into_values().collect()
    }

    /// Adds messages that another node, or this one before a restart, could not send. A channel that is no
    /// longer configured gets nothing.
    pub fn adopt(&mut self, channels: &[Arc<dyn Channel>], stored: Vec<StoredMessage>) {
        for StoredMessage { id, at_us, changes, channels: names } in stored {
            let Ok(id) = id.parse() else { continue };
            if self.unsent.iter().any(|unsent| unsent.message.id == id) {
                continue;
            }
            let channels: Vec<Arc<dyn Channel>> = channels
                .iter()
                .filter(|channel| names.iter().any(|name| name == channel.name()))
                .cloned()
                .collect();
            self.push(&channels, Message { id, at: Time::from_micros(at_us), changes });
        }
    }

    /// Removes changes that another node sends from now on.
    pub fn retain(&mut self, is_own: impl Fn(&Change) -> bool) {
        self.unsent.retain_mut(|unsent| {
            let own: Vec<Change> =
                unsent.message.changes.iter().filter(|change| is_own(change)).cloned().collect();
            let Message { id, at, .. } = *unsent.message;
            unsent.message = Arc::new(Message { id, at, changes: own });
            !unsent.message.changes.is_empty()
        });
    }
}

fn key(change: &Change) -> (Rule, String) {
    let alert = change.alert();
    (alert.rule, alert.subject.clone())
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use gancho_domain::Time;

    use super::*;
    use crate::{AlertBook, Condition, MessageId};

    struct Nowhere;

    #[async_trait]
    impl Channel for Nowhere {
        fn name(&self) -> &'static str {
            "url"
        }

        async fn send(&self, _message: &Message) -> Result<(), String> {
            Err("down".to_owned())
        }
    }

    fn holds(subject: &str) -> Condition {
        let (subject, detail) = (subject.to_owned(), "3 were refused".to_owned());
        Condition { rule: Rule::WritesRefused, subject, value: 3.0, threshold: 0.0, detail }
    }

    #[test]
    fn what_a_later_message_says_is_not_contradicted_by_an_earlier_one() {
        let channels: [Arc<dyn Channel>; 1] = [Arc::new(Nowhere)];
        let mut book = AlertBook::default();
        let mut outbox = Outbox::default();
        let mut step = |outbox: &mut Outbox, second, holding| {
            let at = Time::from_secs(second);
            let changes = book.step(holding, Duration::ZERO, at);
            outbox.push(&channels, Message { id: MessageId::from_bits(1), at, changes });
        };
        let lines = |outbox: &Outbox, unsent: &[QueuedMessage]| -> Vec<Option<String>> {
            unsent.iter().map(|one| outbox.current(one).map(|message| message.text())).collect()
        };
        step(&mut outbox, 1, vec![holds("n1"), holds("n2")]);
        let now = Instant::now();
        let failed = outbox.due(&Nowhere, now).remove(0);
        assert!(outbox.start(&failed).is_some() && outbox.due(&Nowhere, now).is_empty());
        assert_eq!(outbox.stored().len(), 1, "also while it is being sent");
        assert!(outbox.put_back(&failed, now));
        step(&mut outbox, 2, vec![holds("n2")]);
        // The later message is sent at once, the earlier one is due in five seconds.
        let later = outbox.due(&Nowhere, Instant::now());
        let resolved = "[resolved] Events, webhooks or e-mails are being refused: n1, it began at 1970-01-01T00:00:01.000Z\n";
        assert_eq!(lines(&outbox, &later), [Some(resolved.to_owned())]);
        outbox.remove(&later[0]);
        let earlier = outbox.due(&Nowhere, now + Duration::from_secs(5));
        let fired = "[critical] Events, webhooks or e-mails are being refused: 3 were refused\n";
        assert_eq!(lines(&outbox, &earlier), [Some(fired.to_owned())], "of n2 only");
        assert_eq!(outbox.current(&earlier[0]).unwrap().changes.len(), 1);
        // Now also about n2.
        step(&mut outbox, 3, vec![]);
        assert_eq!(outbox.start(&earlier[0]), None);
    }
}

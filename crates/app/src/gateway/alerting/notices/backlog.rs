//! Messages that are not sent yet. Their owners take turns and send one message at a time each, a number of owners
//! side by side. A message that hangs gives its slot to another, and owners whose messages fail or hang share slots of
//! their own.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use gancho_alerts::retry_delay;
use gancho_domain::{TenantId, fairness::Holdings};
use gancho_mail::Mailbox;
use tokio::time::Instant;

/// Maximum messages that wait. Beyond it, the owner with most of them loses its oldest.
const MAX_WAITING: usize = 5_000;
/// Maximum messages that are sent at once, without those that take long.
const MAX_QUICK: usize = 16;
/// The next message of an owner whose last one failed, or took long, is sent while fewer than this take long.
const MAX_SLOW: usize = 8;
/// Maximum messages that are sent at once, with those that take long.
const MAX_SENDING: usize = 64;
/// A message that takes longer than this takes long.
const SLOW: Duration = Duration::from_secs(5);

/// Who pays for a message with a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoticeOwner {
    /// The operator's chat.
    Chat,
    /// The operator's addresses.
    Operator,
    Tenant(TenantId),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Recipient {
    Chat,
    Address(Mailbox),
    /// The addresses of the tenant, which were not read yet.
    TenantAddresses(TenantId),
}

pub struct OutgoingNotice {
    pub owner: NoticeOwner,
    pub to: Recipient,
    pub title: Arc<str>,
    pub text: Arc<str>,
    pub attempts: u32,
    due: Instant,
}

#[derive(Default)]
pub struct Backlog {
    waiting: HashMap<NoticeOwner, VecDeque<OutgoingNotice>>,
    /// The owners with waiting messages, in the order of their turns.
    turns: VecDeque<NoticeOwner>,
    holdings: Holdings<NoticeOwner>,
    count: usize,
    /// The owners of messages that are being sent, since when, and whether they were troubled then.
    sending: HashMap<NoticeOwner, (Instant, bool)>,
    /// The owners whose last message failed, or took long.
    troubled: HashSet<NoticeOwner>,
}

impl OutgoingNotice {
    pub fn new(owner: NoticeOwner, to: Recipient, title: &Arc<str>, text: &Arc<str>) -> Self {
        let (title, text) = (title.clone(), text.clone());
        Self { owner, to, title, text, attempts: 0, due: Instant::now() }
    }
}

impl Backlog {
    /// Returns the number of messages that are not being sent.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Adds messages. Returns how many were dropped to make room.
    pub fn add(&mut self, messages: impl IntoIterator<Item = OutgoingNotice>) -> usize {
        for message in messages {
            self.push(message);
        }
        let mut dropped = 0;
        while self.count > MAX_WAITING
            && let Some(largest) = self.holdings.largest()
        {
            self.remove(largest, 0);
            dropped += 1;
        }
        dropped
    }

    /// Returns a message that is due, of the owner whose turn it is; `None` if there is none, or enough are being
    /// sent. Every message that is returned must be passed to [`Backlog::end`].
    pub fn next(&mut self, now: Instant) -> Option<OutgoingNotice> {
        if self.sending.len() >= MAX_SENDING {
            return None;
        }
        let takes_long = |(start, is_troubled): &&(Instant, bool)| {
            *is_troubled || now.duration_since(*start) > SLOW
        };
        let slow = self.sending.values().filter(takes_long).count();
        let quick = self.sending.len() - slow;
        for _ in 0..self.turns.len() {
            let owner = self.turns.pop_front()?;
            self.turns.push_back(owner);
            let is_troubled = self.troubled.contains(&owner);
            let has_slot = if is_troubled { slow < MAX_SLOW } else { quick < MAX_QUICK };
            if self.sending.contains_key(&owner) || !has_slot {
                continue;
            }
            let due = self.waiting[&owner].iter().position(|message| message.due <= now);
            if let Some(message) = due.and_then(|place| self.remove(owner, place)) {
                self.sending.insert(owner, (now, is_troubled));
                return Some(message);
            }
        }
        None
    }

    /// Notes that a message was sent, or that sending it failed after this time.
    pub fn end(&mut self, owner: NoticeOwner, took: Duration, has_failed: bool) {
        self.sending.remove(&owner);
        if has_failed || took > SLOW {
            self.troubled.insert(owner);
        } else {
            self.troubled.remove(&owner);
        }
    }

    /// Queues a message again after a failed attempt, with growing waits for about an hour, as with alerts.
    /// Returns whether it is retried.
    pub fn put_back(&mut self, mut message: OutgoingNotice, now: Instant) -> bool {
        message.attempts += 1;
        let Some(delay) = retry_delay(message.attempts) else { return false };
        message.due = now + delay;
        self.push(message);
        true
    }

    /// Forgets the trouble of owners that have no messages.
    pub fn forget_idle(&mut self) {
        let Self { troubled, waiting, .. } = self;
        troubled.retain(|owner| waiting.contains_key(owner));
    }

    fn push(&mut self, message: OutgoingNotice) {
        let owner = message.owner;
        let own = self.waiting.entry(owner).or_default();
        if own.is_empty() {
            self.turns.push_back(owner);
        }
        own.push_back(message);
        self.holdings.add(owner);
        self.count += 1;
    }

    fn remove(&mut self, owner: NoticeOwner, place: usize) -> Option<OutgoingNotice> {
        let own = self.waiting.get_mut(&owner)?;
        let message = own.remove(place)?;
        if own.is_empty() {
            self.waiting.remove(&owner);
            // The owner of the message that is sent next has just been put at the end.
            if self.turns.back() == Some(&owner) {
                self.turns.pop_back();
            } else {
                self.turns.retain(|one| *one != owner);
            }
        }
        self.holdings.remove(owner);
        self.count -= 1;
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(owner: NoticeOwner, number: usize) -> OutgoingNotice {
        OutgoingNotice::new(owner, Recipient::Chat, &number.to_string().into(), &"".into())
    }

    const fn tenant(number: u128) -> NoticeOwner {
        NoticeOwner::Tenant(TenantId::from_bits(number))
    }

    #[test]
    fn a_message_outlives_a_restart_of_the_mail_server() {
        let mut backlog = Backlog::default();
        backlog.add([of(NoticeOwner::Operator, 1)]);
        let start = Instant::now();
        let (mut now, mut attempts) = (start, 0);
        loop {
            while let Some(message) = backlog.next(now) {
                attempts += 1;
                backlog.end(message.owner, Duration::ZERO, true);
                if !backlog.put_back(message, now) {
                    assert!(now - start > Duration::from_mins(40), "{:?}", now - start);
                    assert_eq!(attempts, 10);
                    return;
                }
            }
            now += Duration::from_secs(5);
        }
    }

    #[test]
    fn a_tenant_with_very_many_messages_loses_only_its_own() {
        let mut backlog = Backlog::default();
        assert_eq!(backlog.add([of(tenant(2), 1), of(NoticeOwner::Chat, 2)]), 0);
        assert_eq!(backlog.add((0..6_000).map(|number| of(tenant(1), number))), 1_002);
        assert_eq!(backlog.len(), MAX_WAITING);
        let now = Instant::now();
        let mut next =
            || backlog.next(now).map(|message| (message.owner, message.title.to_string()));
        assert_eq!(next(), Some((tenant(2), "1".into())));
        assert_eq!(next(), Some((NoticeOwner::Chat, "2".into())));
        assert_eq!(next(), Some((tenant(1), "1002".into())));
        assert_eq!(next(), None, "one at a time");
        backlog.end(tenant(1), Duration::ZERO, false);
        assert!(backlog.next(now).is_some());
    }

    #[test]
    fn owners_whose_messages_fail_leave_slots_to_the_others() {
        let mut backlog = Backlog::default();
        for number in 1..=100 {
            backlog.add([of(tenant(number), 0), of(tenant(number), 1)]);
        }
        let now = Instant::now();
        for number in 1..=100 {
            let message = backlog.next(now).unwrap();
            assert_eq!(message.owner, tenant(number), "each in its turn");
            backlog.end(message.owner, Duration::from_secs(60), false);
        }
        let slow: Vec<_> = std::iter::from_fn(|| backlog.next(now)).collect();
        assert_eq!(slow.len(), MAX_SLOW);
        backlog.add((200..240).map(|number| of(tenant(number), 0)));
        let now = Instant::now();
        assert_eq!(std::iter::from_fn(|| backlog.next(now)).count(), MAX_QUICK);
        let later = now + SLOW + Duration::from_secs(1);
        assert_eq!(
            std::iter::from_fn(|| backlog.next(later)).count(),
            MAX_QUICK,
            "all of them hang"
        );
        backlog.forget_idle();
        assert_eq!(backlog.troubled.len(), 92);
    }
}

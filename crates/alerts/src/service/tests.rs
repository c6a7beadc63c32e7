use std::{collections::HashSet, future::pending};

use async_trait::async_trait;
use gancho_domain::{ManualClock, SeededRandom};
use gancho_store_sqlite::SqliteStore;

use super::*;
use crate::{Facts, NodeReport};

const INTERVAL: Duration = Duration::from_secs(15);

/// Has one more tenant with dead letters at each evaluation, so that each fires an alert.
#[derive(Default)]
struct MoreAndMore(Mutex<u64>);

#[async_trait]
impl FactSource for MoreAndMore {
    async fn read(&self, _: HashSet<String>) -> Result<Facts> {
        let mut count = self.0.lock();
        *count += 1;
        let dead_letters_by_tenant =
            (0..*count).map(|number| (format!("t{number}"), 1_000_000)).collect();
        Ok(Facts { dead_letters_by_tenant, ..Facts::default() })
    }

    fn report(&self) -> NodeReport {
        NodeReport { name: "n".to_owned(), ..NodeReport::default() }
    }
}

/// Records the messages, or hangs for this long and then fails.
struct Recording {
    name: &'static str,
    hangs_for: Option<Duration>,
    messages: Mutex<Vec<Message>>,
}

#[async_trait]
impl Channel for Recording {
    fn name(&self) -> &'static str {
        self.name
    }

    async fn send(&self, message: &Message) -> Result<(), String> {
        self.messages.lock().push(message.clone());
        match self.hangs_for {
            Some(length) => {
                let _ = timeout(length, pending::<()>()).await;
                Err("timed out".to_owned())
            }
            None => Ok(()),
        }
    }
}

fn channel(name: &'static str, hangs_for: Option<Duration>) -> Arc<Recording> {
    Arc::new(Recording { name, hangs_for, messages: Mutex::default() })
}

fn service(
    seed: u64,
    store: &Arc<dyn Store>,
    facts: &Arc<MoreAndMore>,
    channels: &[&Arc<Recording>],
) -> AlertService {
    let clock = Arc::new(ManualClock::at_secs(1_763_000_000));
    AlertService::new(AlertSetup {
        store: store.clone(),
        clock: clock.clone(),
        ids: Arc::new(IdMaker::new(clock, Arc::new(SeededRandom::new(seed)))),
        facts: facts.clone(),
        channels: channels.iter().map(|one| Arc::clone(one) as Arc<dyn Channel>).collect(),
        thresholds: Thresholds::default(),
        interval: INTERVAL,
        after: Duration::ZERO,
        node: "n".to_owned(),
    })
}

#[tokio::test(start_paused = true)]
async fn a_channel_that_hangs_stops_neither_the_evaluation_nor_the_others() {
    let store: Arc<dyn Store> = SqliteStore::inline().unwrap();
    let (url, email) = (channel("url", Some(Duration::from_hours(1))), channel("email", None));
    let facts = Arc::default();
    let evaluating = service(1, &store, &facts, &[&url, &email]);
    let stop = CancellationToken::new();
    let _ = timeout(INTERVAL * 5, evaluating.run(stop)).await;
    let sent: Vec<_> = email.messages.lock().iter().map(|message| message.id).collect();
    assert!(sent.len() >= 4, "{}", sent.len());
    let ids: HashSet<_> = sent.iter().copied().collect();
    assert_eq!(ids.len(), sent.len(), "each of them once");
    assert_eq!(url.messages.lock().len(), 1, "it still hangs");
    // Another node sends all of it to the channel that hung, also the message that was in flight.
    let stored = records::read_unsent(&*store).await.unwrap();
    assert_eq!(stored.len(), sent.len());
    let (url, email) = (channel("url", None), channel("email", None));
    let next = service(2, &store, &facts, &[&url, &email]);
    next.evaluate_once().await;
    next.send_due().await;
    let repeated = url.messages.lock().len();
    assert!(repeated >= stored.len(), "{repeated} of {}", stored.len());
    assert!(email.messages.lock().iter().all(|message| !ids.contains(&message.id)));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_fails_is_tried_again_and_sent_once() {
    let store: Arc<dyn Store> = SqliteStore::inline().unwrap();
    let (url, email) = (channel("url", Some(Duration::from_secs(1))), channel("email", None));
    let service = service(1, &store, &Arc::default(), &[&url, &email]);
    service.evaluate_once().await;
    for _ in 0..3 {
        service.send_due().await;
        tokio::time::advance(Duration::from_secs(30)).await;
    }
    assert_eq!((url.messages.lock().len(), email.messages.lock().len()), (3, 1));
}

//! Dead letters leave the store after they were archived, and never before.

use std::{
    collections::BTreeMap,
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use gancho_domain::{DeliveryId, Lane, Parcel, TenantId, Time};
use gancho_engine::{Archive, ArchiveError, Engine, LetterName, Limits};
use gancho_store::{Accept, DeadFilter, DeadLetters, FullDeadLetter, NewParcel, NodeId};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::stage::{Play, Stage, TENANT, seconds};

/// An archive in memory, which fails or hangs if a test says so.
#[derive(Default)]
struct Chest {
    kept: Mutex<BTreeMap<DeliveryId, Vec<FullDeadLetter>>>,
    is_broken: AtomicBool,
    /// Writes the dead letters and never returns.
    hangs: AtomicBool,
    came: Notify,
    /// The tenant of each dead letter, in the order in which they were written.
    order: Mutex<Vec<TenantId>>,
}

#[async_trait]
impl Archive for Chest {
    async fn forget(&self, _: &[LetterName], _: Time) -> Result<u64, ArchiveError> {
        Ok(0)
    }

    async fn write_letters(&self, letters: &[FullDeadLetter]) -> Result<(), ArchiveError> {
        self.came.notify_one();
        if self.is_broken.load(Ordering::Relaxed) {
            return Err(ArchiveError("the disk is full".into()));
        }
        for one in letters {
            self.order.lock().push(one.letter.tenant);
            self.kept.lock().entry(one.letter.delivery).or_default().push(one.clone());
        }
        if self.hangs.load(Ordering::Relaxed) {
            pending::<()>().await;
        }
        Ok(())
    }
}

impl Chest {
    fn ids(&self) -> Vec<DeliveryId> {
        self.kept.lock().keys().copied().collect()
    }
}

const MAX: u64 = 2;
const HOUR: Duration = Duration::from_hours(1);

async fn start(stage: &Stage, chest: Option<&Arc<Chest>>) -> Arc<Engine> {
    let mut setup = stage.setup();
    setup.limits = Limits { dead_letters_per_tenant: MAX, ..Limits::default() };
    setup.archive = chest.map(|chest| chest.clone() as Arc<dyn Archive>);
    Engine::start(setup).await.expect("it starts")
}

/// Makes five dead letters, a second apart, and returns them oldest first.
async fn bury(stage: &Stage) -> Vec<DeliveryId> {
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(stage.accept().await);
        seconds(1).await;
    }
    assert_eq!(in_store(stage).await, 5);
    ids
}

async fn in_store(stage: &Stage) -> u64 {
    let stats = stage.store.dead_stats(DeadFilter::default()).await;
    stats.expect("the store works").total
}

#[tokio::test(start_paused = true)]
async fn what_is_too_much_and_what_is_too_old_is_archived_and_leaves() {
    let stage = Stage::new(|_, _| Play::Refuse);
    let chest = Arc::new(Chest::default());
    let engine = start(&stage, Some(&chest)).await;
    let ids = bury(&stage).await;
    seconds(60).await;
    assert_eq!((chest.ids(), in_store(&stage).await), (ids[..3].to_vec(), MAX));
    assert_eq!(engine.archived(Lane::Webhook), 3);

    stage.clock.jump(6 * 24 * 3_600);
    assert_eq!(engine.archive_once().await.expect("it works"), 0, "their time is not over");
    stage.clock.jump(24 * 3_600);
    assert_eq!(engine.archive_once().await.expect("it works"), 2);
    assert_eq!((chest.ids(), in_store(&stage).await), (ids, 0));
    let kept = chest.kept.lock();
    assert!(kept.values().all(|times| times.len() == 1), "each of them once");
    let whole = &kept.values().next().expect("there are some")[0];
    assert_eq!((&*whole.letter.event_type, &*whole.letter.original), ("a.b", &b"{}"[..]));
    assert_eq!(whole.attempts.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_archived_stays() {
    let stage = Stage::new(|_, _| Play::Refuse);
    let chest = Arc::new(Chest { is_broken: true.into(), ..Chest::default() });
    let engine = start(&stage, Some(&chest)).await;
    let ids = bury(&stage).await;
    seconds(600).await;
    chest.came.notified().await;
    stage.clock.jump(30 * 24 * 3_600);
    assert!(engine.archive_once().await.is_err());
    assert_eq!((chest.ids(), in_store(&stage).await), (vec![], 5));
    assert_eq!(engine.archived(Lane::Webhook), 0);

    chest.is_broken.store(false, Ordering::Relaxed);
    assert_eq!(engine.archive_once().await.expect("it works again"), 5);
    assert_eq!((chest.ids(), in_store(&stage).await), (ids, 0));
}

#[tokio::test(start_paused = true)]
async fn without_an_archive_they_stay() {
    let stage = Stage::new(|_, _| Play::Refuse);
    let engine = start(&stage, None).await;
    bury(&stage).await;
    seconds(600).await;
    stage.clock.jump(30 * 24 * 3_600);
    assert_eq!(engine.archive_once().await.expect("it has nothing to do"), 0);
    assert_eq!(in_store(&stage).await, 5);
}

#[tokio::test(start_paused = true)]
async fn a_kill_before_they_leave_archives_the_same_again() {
    let stage = Stage::new(|_, _| Play::Refuse);
    let chest = Arc::new(Chest { hangs: true.into(), ..Chest::default() });
    let engine = start(&stage, Some(&chest)).await;
    let ids = bury(&stage).await;
    chest.came.notified().await;
    engine.abort();
    engine.ended().await;
    assert_eq!((chest.ids(), in_store(&stage).await), (ids[..3].to_vec(), 5), "in both");

    chest.hangs.store(false, Ordering::Relaxed);
    let engine = start(&stage, Some(&chest)).await;
    seconds(61).await;
    assert_eq!((chest.ids(), in_store(&stage).await), (ids[..3].to_vec(), MAX));
    for (id, times) in &*chest.kept.lock() {
        assert_eq!(times.len(), 2, "{id}");
        assert_eq!(times[0], times[1], "the same both times");
    }
    drop(engine);
}

/// A tenant has far too many dead letters, another one a few too many, and those of a third are too old.
#[tokio::test(start_paused = true)]
async fn tenants_take_turns_in_the_archive() {
    let stage = Stage::new(|_, _| Play::Refuse);
    let [few, old] = [2, 3].map(|number| TenantId::from_bits(number << 80));
    let accept = async |tenant| {
        let NewParcel { parcel, deliveries, .. } = stage.parcel(false);
        let parcel = Arc::new(Parcel { tenant, ..Parcel::clone(&parcel) });
        let new = NewParcel { parcel, once: None, ledger: None, deliveries };
        stage.store.accept(vec![new], NodeId(0)).await.expect("the store works");
    };
    let engine = start(&stage, None).await;
    for _ in 0..2 {
        accept(old).await;
    }
    seconds(60).await;
    stage.clock.jump(8 * 24 * 3_600);
    for _ in 0..200 {
        accept(TENANT).await;
    }
    for _ in 0..MAX + 8 {
        accept(few).await;
    }
    seconds(600).await;
    assert_eq!(in_store(&stage).await, 212);
    engine.abort();
    engine.ended().await;

    let chest = Arc::new(Chest::default());
    let mut setup = stage.setup();
    setup.limits =
        Limits { dead_letters_per_tenant: MAX, upkeep_step: 4, upkeep: HOUR, ..Limits::default() };
    setup.archive = Some(chest.clone() as Arc<dyn Archive>);
    let engine = Engine::start(setup).await.expect("it starts");
    assert_eq!(engine.archive_once().await.expect("it works"), 2 + 198 + 8);
    let order = chest.order.lock();
    let last = |tenant| order.iter().rposition(|one| *one == tenant).expect("it was archived");
    assert!(last(few) < 20, "{order:?}");
    assert!(last(old) < 20 && last(TENANT) == order.len() - 1, "{order:?}");
}

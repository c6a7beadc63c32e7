//! Dead letters are imported from the archive.

use bytes::Bytes;
use gancho_domain::{DeliveryId, State, TenantId, TenantScope, Time};

use super::{
    Fixture,
    build::{World, hours, secs},
};
use crate::{
    ArchiveSelection, ArchivedLetter, DeadFilter, DeliveryFilter, EventFilter, FullDeadLetter,
    ImportOutcome,
    ImportOutcome::{Clash, Erased, Imported, Present, Revived},
};

const ALL: ArchiveSelection = ArchiveSelection::Expired(Time::MAX);

/// Archives all dead letters and removes them from the store.
async fn archived<F: Fixture>(world: &World<F>) -> Vec<FullDeadLetter> {
    let letters = world.store.letters_to_archive(ALL, 1_000, 64 << 20).await.unwrap();
    let keys = letters.iter().map(|one| ArchivedLetter::from(&one.letter)).collect();
    assert_eq!(world.store.remove_archived(keys).await, Ok(letters.len() as u64));
    letters
}

/// Makes an event in which everything is set, given up after two attempts.
async fn buried<F: Fixture>(world: &World<F>, tenant: TenantId) -> DeliveryId {
    let draft = world.event(tenant).named("inv-1").about("order-1").typed("invoice.paid");
    let draft = draft.body(&b"{ \"a\": 1 }"[..]).to(world.target());
    let id = draft.delivery(0);
    world.accept(draft).await;
    let job = world.take_one().await;
    world.retry_at(&job, world.now()).await;
    world.pass(secs(1));
    let job = world.take_one().await;
    world.give_up(&job).await;
    world.pass(secs(1));
    id
}

async fn import<F: Fixture>(world: &World<F>, letters: &[FullDeadLetter]) -> Vec<ImportOutcome> {
    world.store.import_dead(letters.to_vec(), world.now()).await.unwrap()
}

/// Returns the same dead letters, which expire seven days from now.
fn renewed<F: Fixture>(world: &World<F>, letters: &[FullDeadLetter]) -> Vec<FullDeadLetter> {
    let renew = |one: &FullDeadLetter| {
        let mut one = one.clone();
        one.letter.expires_at = world.now() + hours(7 * 24);
        one
    };
    letters.iter().map(renew).collect()
}

pub async fn what_left_comes_back_as_it_was<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = buried(&world, acme).await;
    let before = world.see(acme, id).await;
    let letters = archived(&world).await;
    assert_eq!(world.dead_letter(id).await, None);
    world.pass(hours(240));
    assert_eq!(import(&world, &letters).await, [Imported]);
    assert_eq!(world.dead_letter(id).await, Some(renewed(&world, &letters)[0].letter.clone()));
    assert_eq!(world.see(acme, id).await, before, "the log is as it was");
    assert_eq!(world.store.dead_stats(DeadFilter::default()).await.unwrap().total, 1);
    assert_eq!(world.prune(world.now()).await, 0, "it is a dead letter again");
}

pub async fn what_was_pruned_comes_back_whole<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = buried(&world, acme).await;
    let before = world.see(acme, id).await;
    let letters = archived(&world).await;
    world.pass(hours(24 * 40));
    assert_eq!(world.prune(world.now()).await, 1);
    assert_eq!(world.find(acme, id).await, None);

    assert_eq!(import(&world, &letters).await, [Imported]);
    let view = world.see(acme, id).await;
    assert_eq!((view.row.state, &view.parcel), (State::Dead, &before.parcel));
    assert_eq!((view.row.attempts, &view.attempts), (2, &before.attempts));
    let found = world.store.letters_to_archive(ALL, 10, 1 << 20).await.unwrap();
    assert_eq!(found, renewed(&world, &letters));
    let listed = world.list(acme, DeliveryFilter::default()).await;
    assert_eq!(listed.iter().map(|row| row.id).collect::<Vec<_>>(), [id], "lists find it");
    let target = letters[0].letter.target;
    let to = DeliveryFilter { endpoint: Some(target), ..DeliveryFilter::default() };
    assert_eq!(world.list(acme, to).await.len(), 1, "by its target too");
    let named = EventFilter { external_id: Some("inv-1".into()), ..EventFilter::default() };
    assert_eq!(world.list_events(acme, named).await.len(), 1, "and by its name");
    assert_eq!(world.prune(world.now()).await, 0);
    assert_eq!(archived(&world).await.len(), 1, "it leaves again");
    assert_eq!(world.prune(world.now()).await, 1);
    assert_eq!(world.list(acme, DeliveryFilter::default()).await, []);
}

pub async fn an_import_is_done_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let mut ids = vec![buried(&world, acme).await];
    ids.push(buried(&world, acme).await);
    let letters = archived(&world).await;
    world.prune(world.now()).await;
    let twice = [letters.clone(), letters.clone()].concat();
    assert_eq!(import(&world, &twice).await, [Imported, Imported, Present, Present]);
    assert_eq!(import(&world, &letters).await, [Present, Present]);
    let (one, two) = tokio::join!(import(&world, &letters), import(&world, &letters));
    assert_eq!((one, two), (vec![Present; 2], vec![Present; 2]));
    assert_eq!(world.store.dead_stats(DeadFilter::default()).await.unwrap().total, 2);
    assert_eq!(world.list(acme, DeliveryFilter::default()).await.len(), 2);
    assert_eq!(world.store.import_dead(vec![], world.now()).await, Ok(vec![]));
}

pub async fn two_letters_of_one_event_come_back<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let draft = world.event(acme).to(world.target()).to(world.target());
    let event = draft.id();
    world.accept(draft).await;
    for job in world.take_all().await {
        world.give_up(&job).await;
    }
    let letters = archived(&world).await;
    assert_eq!(letters.len(), 2);
    world.pass(hours(1));
    assert_eq!(world.prune(world.now()).await, 1);
    assert_eq!(import(&world, &letters[..1]).await, [Imported]);
    assert_eq!(import(&world, &letters).await, [Present, Imported]);
    assert_eq!(world.see_event(acme, event).await.deliveries.len(), 2);
    archived(&world).await;
    assert_eq!(world.prune(world.now()).await, 1, "with both of its deliveries");
    assert_eq!(world.list(acme, DeliveryFilter::default()).await, []);
}

pub async fn what_is_alive_or_erased_stays_as_it_is<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let scope = TenantScope::internal(acme);
    let id = buried(&world, acme).await;
    let letters = world.store.letters_to_archive(ALL, 10, 1 << 20).await.unwrap();
    world.replay(DeadFilter::default(), 1).await;
    assert_eq!(import(&world, &letters).await, [Revived], "it is due again");
    let job = world.take_one().await;
    assert_eq!(import(&world, &letters).await, [Revived], "it is being tried");
    world.deliver(&job).await;
    assert_eq!(import(&world, &letters).await, [Revived], "it was delivered");
    assert_eq!(
        (world.dead_letter(id).await, world.see(acme, id).await.row.state),
        (None, State::Delivered)
    );

    let id = buried(&world, acme).await;
    let letters = archived(&world).await;
    let event = letters[0].letter.parcel;
    let null = Bytes::from_static(b"null");
    world.store.erase_content(scope, event, null, world.now()).await.unwrap();
    assert_eq!(import(&world, &letters).await, [Erased]);
    assert_eq!(world.dead_letter(id).await, None);
}

pub async fn an_id_of_another_is_refused<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    buried(&world, acme).await;
    let mut letters = world.store.letters_to_archive(ALL, 10, 1 << 20).await.unwrap();
    letters[0].letter.tenant = globex;
    let outcome = import(&world, &letters).await;
    // A store whose keys begin with the tenant has room for both.
    assert!(outcome == [Clash] || outcome == [Imported], "{outcome:?}");
    let of_acme = DeadFilter { tenant: Some(acme), ..DeadFilter::default() };
    assert_eq!(
        world.store.dead_stats(of_acme).await.unwrap().total,
        1,
        "nothing of acme's changes"
    );
}

pub async fn an_imported_letter_is_replayed_and_leaves<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = buried(&world, acme).await;
    let letters = archived(&world).await;
    world.pass(hours(24 * 40));
    world.prune(world.now()).await;
    import(&world, &letters).await;
    assert_eq!(world.replay(DeadFilter::default(), 1).await, 1);
    let job = world.take_one().await;
    assert_eq!((job.delivery, &*job.parcel.body), (id, &b"{ \"a\": 1 }"[..]));
    let expired = world.store.expire(job.lane, world.now(), 10, world.now()).await;
    assert_eq!(expired, Ok(Vec::new()));
    world.deliver(&job).await;
    assert_eq!(world.dead_letter(id).await, None);
    let view = world.see(acme, id).await;
    assert_eq!((view.row.state, view.attempts.len()), (State::Delivered, 3));
    assert_eq!(import(&world, &letters).await, [Revived]);
}

pub async fn a_subject_counts_what_came_back<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    buried(&world, acme).await;
    let letters = archived(&world).await;
    world.pass(hours(1));
    let until = world.now();
    assert_eq!(world.prune(until).await, 1);
    // The subject is still used when the imported one is removed.
    world.pass(hours(1));
    let young = world.event(acme).about("order-1").to(world.target());
    world.accept(young).await;
    let job = world.take_one().await;
    world.deliver(&job).await;
    assert_eq!(import(&world, &letters).await, [Imported]);
    archived(&world).await;
    assert_eq!(world.prune(until).await, 1);
    let next = world.event(acme).about("order-1").to(world.target());
    let accepted = world.accept(next).await;
    assert!(super::build::number(&accepted) > Some(1), "numbers do not begin again: {accepted:?}");
}

//! Withheld receipts: stored with the line of the ledger and the request, as dead letters that were never
//! tried.

use gancho_domain::{Code, Failure, Lane, State, Status, TenantId, parcel::ParcelKind};

use super::{
    Fixture,
    build::{DONE, Draft, World, delivered, hours, ids, placed, scope, secs, sorted},
};
use crate::{
    AcceptOutcome, ArchiveSelection, Claim, DeadFilter, DeliveryFilter, Job, Placement,
    RetryOutcome, TargetId,
};

const REQUEST: &str = r#"{"path":"/webhooks/acme"}"#;

fn clash() -> Failure {
    Failure::new(Code::from_text("ID_CLASH"), "the id was used for another body")
}

fn receipt<F: Fixture>(world: &World<F>, tenant: TenantId) -> Draft {
    world.event(tenant).kind(ParcelKind::Receipt).received(REQUEST, Some(clash()))
}

fn to(draft: Draft, targets: &[TargetId]) -> Draft {
    targets.iter().fold(draft, |draft, target| draft.in_lane(Lane::Dispatch, *target))
}

async fn due<F: Fixture>(world: &World<F>) -> Vec<Job> {
    world.take_until_done(Claim { lane: Lane::Dispatch, ..world.claim() }).await.0
}

pub async fn the_request_reads_back<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let core = [world.target()];
    let sent = to(world.event(acme).kind(ParcelKind::Receipt).received(REQUEST, None), &core);
    let kept = to(receipt(&world, acme), &core);
    let plain = to(world.event(acme), &core);
    let ids = [sent.id(), kept.id(), plain.id()];
    world.accept_all(vec![sent, kept, plain]).await;
    let world = world.reopen().await;
    for (id, request) in ids.into_iter().zip([Some(REQUEST), Some(REQUEST), None]) {
        let view = world.see_event(acme, id).await;
        assert_eq!(view.request.as_deref(), request.map(str::as_bytes));
    }
}

pub async fn what_is_withheld_is_a_dead_letter_at_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let targets = [world.target(), world.target()];
    let draft = to(receipt(&world, acme), &targets);
    let (parcel, made) = (draft.parcel(), [draft.delivery(0), draft.delivery(1)]);
    assert_eq!(placed(&world.accept(draft).await), [Placement::Dead, Placement::Dead]);
    assert!(due(&world).await.is_empty());

    for (delivery, target) in made.into_iter().zip(targets) {
        let view = world.see(acme, delivery).await;
        assert_eq!((view.row.state, view.row.attempts, view.row.target), (State::Dead, 0, target));
        assert_eq!((view.row.last_failure, view.attempts), (Some(clash()), vec![]));
        let letter = world.dead_letter(delivery).await.unwrap();
        assert_eq!((letter.lane, letter.parcel), (Lane::Dispatch, parcel.id));
        assert_eq!((letter.failed_attempts, &letter.failure), (0, &clash()));
        assert_eq!((letter.failed_at, letter.moved_at), (parcel.created_at, parcel.created_at));
        assert!(letter.expires_at > letter.moved_at);
    }
    let status = Some(Status::Failed);
    for filter in [DeliveryFilter::default(), DeliveryFilter { status, ..Default::default() }] {
        let filter = DeliveryFilter { lane: Some(Lane::Dispatch), ..filter };
        assert_eq!(world.list(acme, filter).await.len(), 2);
    }
    assert_eq!(world.store.ledger_size().await.unwrap(), 1);
    let counted = world.store.dead_stats(DeadFilter::default()).await.unwrap();
    assert_eq!((counted.total, counted.by_code["ID_CLASH"]), (2, 2));
}

pub async fn it_is_sent_when_it_is_replayed<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let draft = to(receipt(&world, acme), &[world.target()]);
    let delivery = draft.delivery(0);
    world.accept(draft).await;
    world.pass(secs(5));
    assert_eq!(world.replay(DeadFilter::default(), 10).await, 1);
    let jobs = due(&world).await;
    assert!(jobs[0].is_replay && jobs[0].attempts == 0);
    assert_eq!(world.settle(delivered(&jobs[0], world.now())).await, DONE);
    assert_eq!(world.dead_letter(delivery).await, None);
    assert_eq!(world.see(acme, delivery).await.row.state, State::Delivered);
}

pub async fn it_is_sent_when_it_is_armed<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let draft = to(receipt(&world, acme), &[world.target()]);
    let delivery = draft.delivery(0);
    world.accept(draft).await;
    let retried = world.store.retry_now(scope(acme), delivery, world.now()).await.unwrap();
    assert_eq!(retried, RetryOutcome::Due);
    let jobs = due(&world).await;
    world.settle(delivered(&jobs[0], world.now())).await;
    assert_eq!(world.dead_letter(delivery).await, None);
}

pub async fn it_comes_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let (target, until) = (world.target(), world.now() + hours(24));
    let draft = || to(receipt(&world, acme).once(1, 1, until), &[target]);
    let first = draft();
    let id = first.id();
    world.accept(first).await;
    assert_eq!(world.accept(draft()).await, AcceptOutcome::Again { first: id });
    assert_eq!(world.dead(DeadFilter::default()).await.len(), 1);
    assert_eq!(world.store.ledger_size().await.unwrap(), 1);
}

pub async fn others_in_its_batch_are_not_touched<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let target = world.target();
    let sent =
        |world: &World<F>| world.event(acme).kind(ParcelKind::Receipt).received(REQUEST, None);
    let drafts = vec![
        to(sent(&world), &[target]),
        to(receipt(&world, acme), &[target, world.target()]),
        receipt(&world, acme),
        to(sent(&world), &[target]),
    ];
    let wanted = [drafts[0].delivery(0), drafts[3].delivery(0)];
    world.accept_all(drafts).await;
    let jobs = due(&world).await;
    assert_eq!(sorted(ids(&jobs)), wanted);
    assert!(jobs.iter().all(|job| !job.is_replay));
    assert_eq!(world.dead(DeadFilter::default()).await.len(), 2);
    assert_eq!(world.store.ledger_size().await.unwrap(), 4);
}

pub async fn it_leaves_when_its_time_is_over<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let draft = to(receipt(&world, acme), &[world.target()]);
    let delivery = draft.delivery(0);
    world.accept(draft).await;
    let letter = world.dead_letter(delivery).await.unwrap();
    let over = ArchiveSelection::Expired(letter.expires_at);
    let leaving = world.store.letters_to_archive(over, 10, 1 << 20).await.unwrap();
    assert_eq!(leaving.len(), 1);
    assert_eq!((leaving[0].letter.delivery, leaving[0].attempts.len()), (delivery, 0));
}

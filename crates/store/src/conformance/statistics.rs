//! The counts of nodes add up, for every reader and however often they were written.

use std::time::Duration;

use gancho_domain::{Figures, Lane, TenantId, Time};

use super::{
    Fixture,
    build::{World, scope},
};
use crate::{
    MinuteFigures, NodeId, Series, StatisticsBatch, StatisticsPoint, StatisticsStep,
    StatisticsWindow, StoreError, TargetId, statistics::without_success::WithoutSuccessQuery,
};

/// Returns figures with these counts.
pub fn counts(accepted: u64, failed_attempts: u64) -> Figures {
    let mut figures = Figures { accepted, failed_attempts, ..Figures::default() };
    figures.response_time.add(Duration::from_millis(accepted));
    figures
}

pub fn window(step: StatisticsStep, since: Time, until: Time) -> StatisticsWindow {
    StatisticsWindow { step, since, until }
}

impl<F: Fixture> World<F> {
    pub async fn write_figures(&self, node: NodeId, series: Series, minute: Time, of: Figures) {
        let minute = StatisticsStep::Minute.floor(minute);
        let rows = vec![MinuteFigures { series, minute, figures: of }];
        let batch = StatisticsBatch { node, part: 0, rows };
        self.store.write_statistics(batch, self.now()).await.unwrap();
    }

    /// Returns what the gateway accepted in the lane `webhook`, by minute, hour or day.
    pub async fn accepted(&self, step: StatisticsStep, ago: Duration) -> Vec<(Time, u64)> {
        let until = self.now() + Duration::from_hours(24);
        let window = window(step, step.floor(self.now() - ago), until);
        let points = self.store.gateway_statistics(vec![Lane::Webhook], window).await.unwrap();
        points.iter().map(|point| (point.at, point.figures.accepted)).collect()
    }

    pub async fn of_target(&self, tenant: TenantId, target: TargetId) -> Vec<StatisticsPoint> {
        let since = StatisticsStep::Hour.floor(self.now() - Duration::from_hours(5));
        let window = window(StatisticsStep::Hour, since, self.now());
        let of = vec![(Some(target), Lane::Webhook)];
        self.store.tenant_statistics(scope(tenant), of, window).await.unwrap()
    }
}

const GATEWAY: Series = Series::of_gateway(Lane::Webhook);

pub async fn figures_read_back_by_minute_hour_and_day<F: Fixture>() {
    let world = World::<F>::new().await;
    let start = world.now();
    let mut figures = Figures {
        accepted: 1,
        attempts: 2,
        failed_attempts: 3,
        delivered: 4,
        delivered_first: 5,
        dead_letters: 6,
        ..Figures::default()
    };
    for millis in [1, 30, 3_000, 86_400_000] {
        figures.response_time.add(Duration::from_millis(millis));
        figures.delivery_time.add(Duration::from_millis(millis / 2));
    }
    world.write_figures(world.node, GATEWAY, start, figures).await;
    for step in [StatisticsStep::Minute, StatisticsStep::Hour, StatisticsStep::Day] {
        let window = window(step, step.floor(start), start + Duration::from_secs(1));
        let points = world.store.gateway_statistics(vec![Lane::Webhook], window).await;
        let point = StatisticsPoint { series: GATEWAY, at: step.floor(start), figures };
        assert_eq!(points, Ok(vec![point]), "{step:?}");
        let before = StatisticsWindow { until: step.floor(start), ..window };
        assert_eq!(world.store.gateway_statistics(vec![Lane::Webhook], before).await, Ok(vec![]));
    }
}

pub async fn nodes_add_up<F: Fixture>() {
    let world = World::<F>::new().await;
    let other = world.join().await;
    let start = world.now();
    world.write_figures(world.node, GATEWAY, start, counts(3, 1)).await;
    world.write_figures(other, GATEWAY, start, counts(5, 0)).await;
    world.pass(Duration::from_mins(1));
    world.write_figures(other, GATEWAY, world.now(), counts(7, 0)).await;
    let minutes = world.accepted(StatisticsStep::Minute, Duration::from_mins(5)).await;
    let floor = |time| StatisticsStep::Minute.floor(time);
    assert_eq!(minutes, [(floor(start), 8), (floor(world.now()), 7)]);
    for step in [StatisticsStep::Hour, StatisticsStep::Day] {
        assert_eq!(world.accepted(step, Duration::ZERO).await, [(step.floor(start), 15)]);
    }
}

pub async fn writing_again_changes_nothing<F: Fixture>() {
    let world = World::<F>::new().await;
    for total in [1, 4, 4, 9] {
        // All that was counted since the minute began.
        world.write_figures(world.node, GATEWAY, world.now(), counts(total, 0)).await;
        let read = world.accepted(StatisticsStep::Hour, Duration::ZERO).await;
        assert_eq!(read.iter().map(|point| point.1).collect::<Vec<_>>(), [total]);
    }
    // Twice in one batch: the last one counts.
    let minute = StatisticsStep::Minute.floor(world.now());
    let row = |total| MinuteFigures { series: GATEWAY, minute, figures: counts(total, 0) };
    let batch = StatisticsBatch { node: world.node, part: 0, rows: vec![row(10), row(11)] };
    world.store.write_statistics(batch, world.now()).await.unwrap();
    assert_eq!(world.accepted(StatisticsStep::Hour, Duration::ZERO).await[0].1, 11);
    let none = StatisticsBatch { node: world.node, part: 0, rows: Vec::new() };
    assert_eq!(world.store.write_statistics(none, world.now()).await, Ok(()));
}

pub async fn a_clock_that_was_set_back_takes_nothing_away<F: Fixture>() {
    let world = World::<F>::new().await;
    let minute = StatisticsStep::Minute.floor(world.now());
    for (part, total) in [(0, 20), (1, 3), (1, 4)] {
        let row = MinuteFigures { series: GATEWAY, minute, figures: counts(total, 0) };
        let batch = StatisticsBatch { node: world.node, part, rows: vec![row] };
        world.store.write_statistics(batch, world.now()).await.unwrap();
    }
    assert_eq!(world.accepted(StatisticsStep::Minute, Duration::ZERO).await, [(minute, 24)]);
}

pub async fn tenants_and_lanes_are_apart<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let (shop, now) = (world.target(), world.now());
    for (series, total) in [
        (GATEWAY, 1),
        (Series::of_gateway(Lane::Email), 2),
        (Series::of_tenant(acme, Lane::Webhook), 4),
        (Series::of_tenant(acme, Lane::Email), 8),
        (Series::of_tenant(globex, Lane::Webhook), 16),
        (Series::of_target(acme, shop, Lane::Webhook), 32),
    ] {
        world.write_figures(world.node, series, now, counts(total, 0)).await;
    }
    let window = window(StatisticsStep::Hour, StatisticsStep::Hour.floor(now), now);
    let of = async |tenant, target, lanes: &[Lane]| -> Vec<u64> {
        let of = lanes.iter().map(|lane| (target, *lane)).collect();
        let points = world.store.tenant_statistics(scope(tenant), of, window).await.unwrap();
        points.iter().map(|point| point.figures.accepted).collect()
    };
    assert_eq!(of(acme, None, &[Lane::Webhook]).await, [4]);
    assert_eq!(of(acme, None, &Lane::ALL).await, [4, 8]);
    assert_eq!(of(globex, None, &Lane::ALL).await, [16]);
    assert_eq!(of(acme, Some(shop), &[Lane::Webhook]).await, [32]);
    assert_eq!(of(globex, Some(shop), &Lane::ALL).await, Vec::<u64>::new(), "it is acme's");
    let all = world.store.gateway_statistics(Lane::ALL.to_vec(), window).await.unwrap();
    assert_eq!(all.iter().map(|point| point.figures.accepted).collect::<Vec<_>>(), [1, 2]);
}

pub async fn many_targets_are_read_at_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let now = world.now();
    let targets: Vec<TargetId> = (0..50).map(|_| world.target()).collect();
    for (place, target) in targets.iter().enumerate() {
        let series = Series::of_target(acme, *target, Lane::Webhook);
        world.write_figures(world.node, series, now, counts(place as u64 + 1, 0)).await;
    }
    let since = StatisticsStep::Hour.floor(now - Duration::from_hours(23));
    let of = targets.iter().map(|target| (Some(*target), Lane::Webhook)).collect();
    let window = window(StatisticsStep::Hour, since, now);
    let points = world.store.tenant_statistics(scope(acme), of, window).await.unwrap();
    assert_eq!(points.len(), 50);
    for (place, target) in targets.iter().enumerate() {
        let point = points.iter().find(|point| point.series.target() == Some(*target)).unwrap();
        assert_eq!(point.figures, counts(place as u64 + 1, 0));
    }
}

pub async fn a_read_is_bounded<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = scope(world.tenant().await);
    let now = world.now();
    let days = |days: u64| {
        let since = now - Duration::from_hours(24 * days);
        window(StatisticsStep::Minute, since, now)
    };
    let lanes = vec![Lane::Webhook];
    assert_eq!(world.store.gateway_statistics(lanes.clone(), days(2)).await, Ok(vec![]));
    let refused = world.store.gateway_statistics(lanes, days(30)).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    let of = (0..60).map(|_| (Some(world.target()), Lane::Webhook)).collect();
    let refused = world.store.tenant_statistics(acme, of, days(1)).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
}

pub async fn what_was_written_is_there_after_a_restart<F: Fixture>() {
    let world = World::<F>::new().await;
    world.write_figures(world.node, GATEWAY, world.now(), counts(5, 0)).await;
    let world = world.reopen().await;
    // Another node in the same minute starts at zero, and nothing is lost.
    world.write_figures(world.node, GATEWAY, world.now(), counts(2, 0)).await;
    assert_eq!(world.accepted(StatisticsStep::Hour, Duration::ZERO).await[0].1, 7);
}

pub async fn the_worst_targets_come_first<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let other = world.join().await;
    let start = world.now();
    let [bad, worse, good, old, mail] = std::array::from_fn(|_| world.target());
    let webhook = |tenant, target| Series::of_target(tenant, target, Lane::Webhook);
    world.write_figures(world.node, webhook(acme, old), start, counts(1, 99)).await;
    world
        .write_figures(world.node, Series::of_tenant(acme, Lane::Webhook), start, counts(1, 99))
        .await;
    world.pass(Duration::from_mins(61));
    for (node, tenant, target, failed) in [
        (world.node, acme, bad, 5),
        (world.node, globex, worse, 3),
        (other, globex, worse, 4),
        (world.node, acme, good, 0),
    ] {
        world.write_figures(node, webhook(tenant, target), world.now(), counts(10, failed)).await;
    }
    let by_mail = Series::of_target(acme, mail, Lane::Email);
    world.write_figures(world.node, by_mail, world.now(), counts(10, 50)).await;
    let until = world.now() + Duration::from_mins(1);
    let worst = async |max| {
        let found = world.store.failing_targets_of_all(Lane::Webhook, until, max).await.unwrap();
        found.into_iter().map(|one| (one.target, one.failed_attempts)).collect::<Vec<_>>()
    };
    assert_eq!(worst(10).await, [(worse, 7), (bad, 5)], "without what is old or in another lane");
    assert_eq!(worst(1).await.len(), 1);
}

pub async fn a_tenants_worst_are_its_own<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let [mine, theirs] = [world.target(), world.target()];
    for (tenant, target, failed) in [(acme, mine, 1), (globex, theirs, 9)] {
        let series = Series::of_target(tenant, target, Lane::Webhook);
        world.write_figures(world.node, series, world.now(), counts(10, failed)).await;
    }
    let until = world.now() + Duration::from_mins(1);
    let worst = world.store.failing_targets(scope(acme), Lane::Webhook, until, 10).await.unwrap();
    let ids: Vec<_> = worst.iter().map(|one| (one.tenant, one.target)).collect();
    assert_eq!(ids, [(acme, mine)]);
}

/// Targets that mostly succeed fail more often than those that never do.
pub async fn a_target_without_success_is_found_whatever_others_do<F: Fixture>() {
    let world = World::<F>::new().await;
    let [victim, busy] = [world.tenant().await, world.tenant().await];
    let webhook = |tenant, target| Series::of_target(tenant, target, Lane::Webhook);
    let attempts =
        |attempts, failed_attempts| Figures { attempts, failed_attempts, ..Figures::default() };
    let write = async |tenant, target, all, failed| {
        let figures = attempts(all, failed);
        world.write_figures(world.node, webhook(tenant, target), world.now(), figures).await;
    };
    let [old, worked, few, dead, dead_as_well, worst] = std::array::from_fn(|_| world.target());
    write(victim, old, 9, 9).await;
    world.pass(Duration::from_mins(16));
    let since = StatisticsStep::Minute.floor(world.now());
    // Its success is in another minute than its failures.
    write(victim, worked, 1, 0).await;
    write(victim, dead, 2, 2).await;
    world.pass(Duration::from_mins(1));
    write(victim, worked, 9, 9).await;
    write(victim, dead, 4, 4).await;
    write(victim, few, 4, 4).await;
    for _ in 0..30 {
        write(busy, world.target(), 70, 35).await;
    }
    write(busy, dead_as_well, 50, 50).await;
    write(busy, worst, 60, 60).await;
    let until = world.now() + Duration::from_mins(1);
    let of = WithoutSuccessQuery { lane: Lane::Webhook, since, until, min_attempts: 5 };
    let found = world.store.targets_without_success(of).await.unwrap();
    let found: Vec<_> = found.iter().map(|one| (one.target, one.failed_attempts)).collect();
    assert_eq!(found, [(worst, 60), (dead, 6), (dead_as_well, 50)]);
    let of = WithoutSuccessQuery { lane: Lane::Email, ..of };
    assert_eq!(world.store.targets_without_success(of).await, Ok(vec![]));
}

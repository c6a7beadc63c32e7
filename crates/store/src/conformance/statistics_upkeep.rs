//! Minutes become hours and days, exactly once, and are removed after their retention.

use std::{sync::Arc, time::Duration};

use gancho_domain::{Lane, TenantId, Time};

use super::{
    Fixture,
    build::{World, scope},
    statistics::{counts, window},
};
use crate::{MinuteFigures, Series, StatisticsBatch, StatisticsStep, TargetId};

const GATEWAY: Series = Series::of_gateway(Lane::Webhook);
const DAY: Duration = Duration::from_hours(24);

impl<F: Fixture> World<F> {
    /// Rolls up until nothing more is due. Returns the number of steps.
    async fn roll_up(&self, max: usize) -> usize {
        for steps in 0..10_000 {
            if !self.store.roll_up_statistics(max, self.now()).await.unwrap() {
                return steps;
            }
        }
        panic!("there is always more to roll up");
    }

    /// Returns the minutes of a target, as they are stored.
    async fn target_minutes(&self, tenant: TenantId, target: TargetId, since: Time) -> usize {
        let window = window(StatisticsStep::Minute, since, self.now());
        let of = vec![(Some(target), Lane::Webhook)];
        self.store.tenant_statistics(scope(tenant), of, window).await.unwrap().len()
    }
}

pub async fn an_hour_that_is_over_is_rolled_up<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let (shop, start) = (world.target(), world.now());
    let series = Series::of_target(acme, shop, Lane::Webhook);
    for _ in 0..5 {
        world.write_figures(world.node, series, world.now(), counts(2, 1)).await;
        world.write_figures(world.node, GATEWAY, world.now(), counts(2, 1)).await;
        world.pass(Duration::from_mins(1));
    }
    world.pass(Duration::from_hours(2));
    let before = world.of_target(acme, shop).await;
    assert!(world.roll_up(10).await > 0);
    assert_eq!(world.of_target(acme, shop).await, before);
    // Once the minutes are removed, the sums are left.
    world.pass(3 * DAY);
    world.roll_up(10).await;
    world.prune(start - DAY).await;
    assert_eq!(world.target_minutes(acme, shop, start).await, 0);
    for step in [StatisticsStep::Hour, StatisticsStep::Day] {
        let read = world.accepted(step, 4 * DAY).await;
        assert_eq!(read, [(step.floor(start), 10)], "{step:?}");
    }
}

pub async fn a_running_hour_is_not_rolled_up_and_reads_the_same<F: Fixture>() {
    let world = World::<F>::new().await;
    world.write_figures(world.node, GATEWAY, world.now(), counts(3, 0)).await;
    assert_eq!(world.roll_up(10).await, 0);
    assert_eq!(world.accepted(StatisticsStep::Hour, Duration::ZERO).await[0].1, 3);
    let first_hour = StatisticsStep::Hour.floor(world.now());
    world.pass(Duration::from_mins(70));
    world.roll_up(10).await;
    world.write_figures(world.node, GATEWAY, world.now(), counts(4, 0)).await;
    let second_hour = StatisticsStep::Hour.floor(world.now());
    let hours = world.accepted(StatisticsStep::Hour, Duration::from_hours(3)).await;
    assert_eq!(hours, [(first_hour, 3), (second_hour, 4)]);
    let day = world.accepted(StatisticsStep::Day, Duration::ZERO).await;
    assert_eq!(day, [(StatisticsStep::Day.floor(world.now()), 7)], "of a sum and a minute");
}

pub async fn a_late_minute_is_counted<F: Fixture>() {
    let world = World::<F>::new().await;
    let (stuck, start) = (world.join().await, world.now());
    world.write_figures(world.node, GATEWAY, start, counts(3, 0)).await;
    world.pass(Duration::from_mins(150));
    world.roll_up(10).await;
    world.write_figures(stuck, GATEWAY, start, counts(4, 0)).await;
    let hour = StatisticsStep::Hour.floor(start);
    let ago = Duration::from_hours(3);
    assert_eq!(world.accepted(StatisticsStep::Hour, ago).await, [(hour, 7)], "at once");
    assert!(world.roll_up(10).await > 0);
    assert_eq!(world.accepted(StatisticsStep::Hour, ago).await, [(hour, 7)], "and for good");
    world.pass(3 * DAY);
    world.roll_up(10).await;
    world.prune(start - DAY).await;
    assert_eq!(world.accepted(StatisticsStep::Hour, 4 * DAY).await, [(hour, 7)]);
    let day = StatisticsStep::Day.floor(start);
    assert_eq!(world.accepted(StatisticsStep::Day, 4 * DAY).await, [(day, 7)]);
}

/// Its hour may have been rolled up and its minutes removed: another roll-up would lose them.
pub async fn what_is_far_too_late_is_left_out<F: Fixture>() {
    let world = World::<F>::new().await;
    let (stuck, start) = (world.join().await, world.now());
    world.write_figures(world.node, GATEWAY, start, counts(3, 0)).await;
    world.pass(3 * DAY);
    world.roll_up(10).await;
    world.prune(start - DAY).await;
    world.write_figures(stuck, GATEWAY, start, counts(4, 0)).await;
    world.roll_up(10).await;
    let hour = StatisticsStep::Hour.floor(start);
    assert_eq!(world.accepted(StatisticsStep::Hour, 4 * DAY).await, [(hour, 3)]);
}

pub async fn two_nodes_roll_up_what_one_would<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let targets: Vec<TargetId> = (0..40).map(|_| world.target()).collect();
    for target in &targets {
        let series = Series::of_target(acme, *target, Lane::Webhook);
        world.write_figures(world.node, series, world.now(), counts(1, 0)).await;
    }
    world.pass(Duration::from_hours(2));
    let mut nodes = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (store, now) = (Arc::clone(&world.store), world.now());
        nodes.spawn(async move { while store.roll_up_statistics(3, now).await.unwrap() {} });
    }
    nodes.join_all().await;
    world.pass(Duration::from_hours(9));
    world.prune(world.now() - 9 * DAY).await;
    let since = StatisticsStep::Hour.floor(world.now() - Duration::from_hours(12));
    let window = window(StatisticsStep::Hour, since, world.now());
    let of = targets.iter().map(|target| (Some(*target), Lane::Webhook)).collect();
    let points = world.store.tenant_statistics(scope(acme), of, window).await.unwrap();
    assert_eq!(points.len(), 40);
    assert!(points.iter().all(|point| point.figures.accepted == 1), "each is counted once");
}

pub async fn five_thousand_targets_are_rolled_up_in_steps<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let targets: Vec<TargetId> = (0..5_000).map(|_| world.target()).collect();
    let minute = StatisticsStep::Minute.floor(world.now());
    for some in targets.chunks(500) {
        let row = |target: &TargetId| MinuteFigures {
            series: Series::of_target(acme, *target, Lane::Webhook),
            minute,
            figures: counts(1, 1),
        };
        let rows = some.iter().map(row).collect();
        let batch = StatisticsBatch { node: world.node, part: 0, rows };
        world.store.write_statistics(batch, world.now()).await.unwrap();
    }
    let until = minute + Duration::from_mins(1);
    let worst = world.store.failing_targets(scope(acme), Lane::Webhook, until, 20).await.unwrap();
    assert_eq!(worst.len(), 20);
    world.pass(Duration::from_hours(2));
    assert!(world.roll_up(500).await >= 10, "in steps");
    world.pass(Duration::from_hours(9));
    world.prune(world.now() - 9 * DAY).await;
    for target in [targets[0], targets[2_500], targets[4_999]] {
        assert_eq!(world.target_minutes(acme, target, minute).await, 0);
        let since = StatisticsStep::Hour.floor(minute);
        let window = window(StatisticsStep::Hour, since, world.now());
        let of = vec![(Some(target), Lane::Webhook)];
        let points = world.store.tenant_statistics(scope(acme), of, window).await.unwrap();
        assert_eq!(points.len(), 1);
        assert_eq!(points[0].figures, counts(1, 1));
    }
}

pub async fn minutes_of_targets_go_first<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let (shop, start) = (world.target(), world.now());
    let minute = StatisticsStep::Minute.floor(start);
    let series = Series::of_target(acme, shop, Lane::Webhook);
    world.write_figures(world.node, series, start, counts(1, 0)).await;
    world.write_figures(world.node, GATEWAY, start, counts(1, 0)).await;
    for (hours, of_target, of_gateway) in [(6, 1, 1), (9, 0, 1), (47, 0, 1), (51, 0, 0)] {
        world.pass((start + Duration::from_hours(hours)).since(world.now()));
        world.roll_up(10).await;
        world.prune(start - DAY).await;
        assert_eq!(world.target_minutes(acme, shop, minute).await, of_target, "{hours} h");
        let window = window(StatisticsStep::Minute, minute, minute + Duration::from_mins(1));
        let minutes = world.store.gateway_statistics(vec![Lane::Webhook], window).await.unwrap();
        assert_eq!(minutes.len(), of_gateway, "{hours} h");
    }
}

pub async fn all_goes_with_the_retention<F: Fixture>() {
    let world = World::<F>::new().await;
    let start = world.now();
    world.write_figures(world.node, GATEWAY, start, counts(1, 0)).await;
    world.pass(30 * DAY);
    world.write_figures(world.node, GATEWAY, world.now(), counts(2, 0)).await;
    world.roll_up(10).await;
    for (before, points) in [(start, 2), (start + 2 * DAY, 1)] {
        world.prune(before).await;
        for step in [StatisticsStep::Hour, StatisticsStep::Day] {
            assert_eq!(world.accepted(step, 31 * DAY).await.len(), points, "{step:?}");
        }
    }
}

pub async fn what_is_not_rolled_up_stays<F: Fixture>() {
    let world = World::<F>::new().await;
    let start = world.now();
    world.write_figures(world.node, GATEWAY, start, counts(6, 0)).await;
    world.pass(5 * DAY);
    world.prune(start - DAY).await;
    let hour = StatisticsStep::Hour.floor(start);
    assert_eq!(world.accepted(StatisticsStep::Hour, 6 * DAY).await, [(hour, 6)]);
    world.roll_up(10).await;
    world.prune(start - DAY).await;
    assert_eq!(world.accepted(StatisticsStep::Hour, 6 * DAY).await, [(hour, 6)]);
}

use std::time::Duration;

use gancho_domain::{EndpointId, Lane, TenantId};

use super::*;

const MINUTE: Duration = Duration::from_mins(1);

fn series(tenant: u128, target: u128) -> Series {
    let (tenant, target) = (TenantId::from_bits(tenant), EndpointId::from_bits(target));
    Series::of_target(tenant, target, Lane::Webhook)
}

impl StatisticsRecorder {
    fn count(&self, now: Time, series: Series) {
        figures(self.minutes.lock().at(now), series).accepted += 1;
    }

    /// Returns the accepted count of each changed row, by part.
    fn taken(&self) -> Vec<(u32, Series, u64)> {
        let rows = self.take_changed().into_iter();
        let rows = rows.flat_map(|((part, _), rows)| rows.into_iter().map(move |row| (part, row)));
        rows.map(|(part, row)| (part, row.series, row.figures.accepted)).collect()
    }
}

#[test]
fn changed_rows_come_with_the_sums_they_are_part_of() {
    let (recorder, now) = (StatisticsRecorder::default(), Time::from_secs(6_000));
    for (tenant, target) in [(1, 1), (1, 1), (1, 2), (2, 3)] {
        recorder.count(now, series(tenant, target));
    }
    let gateway = Series::of_gateway(Lane::Webhook);
    let tenant = |tenant| Series::of_tenant(TenantId::from_bits(tenant), Lane::Webhook);
    assert_eq!(
        recorder.taken(),
        [
            (0, gateway, 4),
            (0, tenant(1), 3),
            (0, series(1, 1), 2),
            (0, series(1, 2), 1),
            (0, tenant(2), 1),
            (0, series(2, 3), 1),
        ]
    );
    assert_eq!(recorder.taken(), [], "nothing has changed");
    recorder.count(now, series(1, 2));
    let changed = [(0, gateway, 5), (0, tenant(1), 4), (0, series(1, 2), 2)];
    assert_eq!(recorder.taken(), changed, "all that was counted in the minute");
    recorder.put_back((0, StatisticsStep::Minute.floor(now)));
    assert_eq!(recorder.taken().len(), 6, "what was not written is taken again");
}

#[test]
fn minutes_that_are_over_and_written_are_dropped() {
    let (recorder, start) = (StatisticsRecorder::default(), Time::from_secs(6_000));
    let held = || recorder.minutes.lock().counts.len();
    for minute in 0..4 {
        recorder.count(start + MINUTE * minute, series(1, 1));
    }
    recorder.forget_written();
    assert_eq!(held(), 4, "none is written");
    recorder.take_changed();
    recorder.forget_written();
    assert_eq!(held(), 2, "the running one and the one before");
    for minute in 4..100 {
        recorder.count(start + MINUTE * minute, series(1, 1));
    }
    assert_eq!(held(), MAX_MINUTES, "a store that refuses them does not fill the memory");
}

#[test]
fn a_minute_that_comes_again_is_another_part() {
    let (recorder, start) = (StatisticsRecorder::default(), Time::from_secs(6_000));
    recorder.count(start, series(1, 1));
    recorder.count(start + MINUTE, series(1, 1));
    recorder.count(start, series(1, 1));
    let parts = |taken: Vec<(u32, Series, u64)>| -> Vec<(u32, u64)> {
        let of_target = taken.into_iter().filter(|row| row.1.target().is_some());
        of_target.map(|row| (row.0, row.2)).collect()
    };
    assert_eq!(parts(recorder.taken()), [(0, 2), (0, 1)], "a minute that is still here goes on");
    recorder.count(start - MINUTE, series(1, 1));
    recorder.count(start, series(1, 1));
    assert_eq!(parts(recorder.taken()), [(1, 1), (1, 1)]);
}

#[test]
fn what_is_beyond_the_bound_is_counted_for_its_tenant_and_then_for_the_gateway() {
    let (recorder, now) = (StatisticsRecorder::default(), Time::from_secs(6_000));
    let count = MAX_SERIES as u128 * 3;
    for number in 1..=count {
        recorder.count(now, series(number, 1));
        recorder.count(now, series(1, 1));
    }
    let held: usize = recorder.minutes.lock().counts.values().map(|counts| counts.all.len()).sum();
    assert!(held <= 2 * MAX_SERIES + Lane::ALL.len(), "{held}");
    let taken = recorder.taken();
    let of = |series| taken.iter().find(|row| row.1 == series).map(|row| row.2);
    assert_eq!(of(Series::of_gateway(Lane::Webhook)), Some(2 * count as u64), "none is lost");
    assert_eq!(of(series(1, 1)), Some(count as u64 + 1));
    let late = TenantId::from_bits(MAX_SERIES as u128 + 1);
    assert_eq!(of(Series::of_tenant(late, Lane::Webhook)), Some(1));
}

/// Another tenant's targets are counted separately, so that its alerts and plots see them.
#[test]
fn tenants_with_very_many_targets_leave_series_to_others() {
    let (recorder, now) = (StatisticsRecorder::default(), Time::from_secs(6_000));
    let flood = |now, tenants| {
        for tenant in 1..=tenants {
            let targets = MAX_SERIES as u128 * 2 / tenants;
            (0..targets).for_each(|target| recorder.count(now, series(tenant, target)));
        }
    };
    let is_apart = |now| {
        recorder.count(now, series(1_000, 1));
        recorder.taken().iter().any(|row| row.1 == series(1_000, 1))
    };
    flood(now, 1);
    assert!(is_apart(now));
    flood(now + MINUTE, 100);
    flood(now + MINUTE * 2, 100);
    assert!(is_apart(now + MINUTE * 2));
}

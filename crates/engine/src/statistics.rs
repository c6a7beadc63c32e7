//! Counts what happens to deliveries, for statistics.
//!
//! A node counts in memory, after the store has confirmed what is counted, and writes the counts every few
//! seconds (`flush`); `roll_up` adds them up to hours and days. A process that is killed loses the counts
//! that it had not written: seconds of statistics, and nothing else.
//!
//! **Bounds.** Counting is one short lock and one look-up for each delivery. Memory has the current minute
//! and the one before it, with the series that were active in them. Beyond its share of [`MAX_SERIES`], a
//! tenant's targets are counted for the tenant only; beyond twice that number, tenants are counted for the
//! gateway only.
//!
//! **Invariant.** What is written for a minute is all that was counted in it. So a minute that has left
//! memory is never counted again under the same key: if the clock was set back, a new part begins.

pub(crate) mod flush;
pub(crate) mod roll_up;

use std::collections::BTreeMap;

use gancho_domain::{
    AttemptFigures, DeliveryEnd, EndReason, Failure, Figures, IdMap, Lane, NextStep, TenantId,
    Time, fairness::PeriodShares,
};
use gancho_store::{
    AcceptOutcome, Job, MinuteFigures, NewParcel, Placement, Series, Settlement, StatisticsStep,
    TargetId,
};
use parking_lot::Mutex;

/// Maximum targets that are counted separately in a minute.
const MAX_SERIES: usize = 10_000;
/// Maximum minutes that wait to be written, if the store refuses them. The oldest are dropped.
const MAX_MINUTES: usize = 5;

/// The part (how often the clock was set back) and the minute.
type MinuteKey = (u32, Time);

/// The counts of one minute.
struct MinuteCounts {
    all: IdMap<Series, SeriesFigures>,
    /// The shares of targets that are counted separately.
    shares: PeriodShares<TenantId>,
}

#[derive(Default)]
pub(crate) struct StatisticsRecorder {
    minutes: Mutex<Minutes>,
    /// Locked while counts are written, so that a stop waits for a write in progress.
    flushing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Minutes {
    part: u32,
    counts: BTreeMap<MinuteKey, MinuteCounts>,
}

/// Whether a delivery ended because its endpoint, or its tenant with all endpoints, was deleted.
fn is_deletion(failure: &Failure) -> bool {
    let deleted = EndReason::ENDPOINT_DELETED;
    *failure.code() == deleted.code && failure.reason() == deleted.untried
}

#[derive(Default)]
struct SeriesFigures {
    figures: Figures,
    /// Whether the figures changed since they were last written.
    is_changed: bool,
}

impl StatisticsRecorder {
    /// Counts the deliveries of accepted parcels. Parcels that were accepted before are not counted again.
    pub fn count_accepted<'a>(
        &self,
        now: Time,
        accepted: impl IntoIterator<Item = (&'a NewParcel, &'a AcceptOutcome)>,
    ) {
        let mut minutes = self.minutes.lock();
        let counts = minutes.at(now);
        for (new, outcome) in accepted {
            let AcceptOutcome::New { placed, .. } = outcome else { continue };
            for (delivery, placement) in new.deliveries.iter().zip(placed) {
                let tenant = new.parcel.tenant;
                let series = Series::of_target(tenant, delivery.target, delivery.lane);
                let figures = figures(counts, series);
                figures.accepted += 1;
                figures.dead_letters += u64::from(*placement == Placement::Dead);
            }
        }
    }

    /// Counts a dead letter that was made without an attempt.
    pub fn count_dead(&self, now: Time, tenant: TenantId, target: TargetId, lane: Lane) {
        let series = Series::of_target(tenant, target, lane);
        figures(self.minutes.lock().at(now), series).dead_letters += 1;
    }

    /// Counts a result that was settled.
    pub fn count_result(&self, now: Time, job: &Job, settlement: &Settlement) {
        let attempt = settlement.attempt.as_ref().map(|attempt| AttemptFigures {
            number: attempt.number,
            latency: attempt.latency,
            has_failed: attempt.failure.is_some(),
        });
        let is_first_run = !job.is_replay && job.attempts_before == 0;
        let end = match &settlement.next {
            NextStep::Delivered => Some(DeliveryEnd::Delivered {
                after: is_first_run.then(|| settlement.ended_at().since(job.created_at)),
            }),
            // A delivery that ends because its endpoint or tenant was deleted is no failure.
            NextStep::Dead(failure) if is_deletion(failure) => None,
            NextStep::Dead(_) => Some(DeliveryEnd::Dead),
            NextStep::Retry { .. } => None,
        };
        if attempt.is_none() && end.is_none() {
            return;
        }
        let series = Series::of_target(job.tenant, job.target, job.lane);
        figures(self.minutes.lock().at(now), series).add_result(attempt, end);
    }

    /// Returns what has changed since the last call, by minute: for targets, their tenants and the gateway.
    fn take_changed(&self) -> Vec<(MinuteKey, Vec<MinuteFigures>)> {
        let mut changed = Vec::new();
        for (key, counts) in &mut self.minutes.lock().counts {
            let counts = &mut counts.all;
            if counts.values().any(|count| count.is_changed) {
                let take = |(series, count): (&Series, &mut SeriesFigures)| {
                    (*series, count.figures, std::mem::take(&mut count.is_changed))
                };
                changed.push((*key, counts.iter_mut().map(take).collect::<Vec<_>>()));
            }
        }
        let rows = |((part, minute), counts)| ((part, minute), changed_rows(minute, counts));
        changed.into_iter().map(rows).collect()
    }

    /// Marks counts as changed again, because they could not be written.
    fn put_back(&self, key: MinuteKey) {
        if let Some(counts) = self.minutes.lock().counts.get_mut(&key) {
            for count in counts.all.values_mut() {
                count.is_changed = true;
            }
        }
    }

    /// Drops minutes that are over and written.
    fn forget_written(&self) {
        let mut minutes = self.minutes.lock();
        while minutes.counts.len() > 2
            && let Some(oldest) = minutes.counts.first_entry()
            && oldest.get().all.values().all(|count| !count.is_changed)
        {
            oldest.remove();
        }
    }
}

impl Minutes {
    /// Returns the counts of the current minute.
    fn at(&mut self, now: Time) -> &mut MinuteCounts {
        let minute = StatisticsStep::Minute.floor(now);
        let newest = self.counts.last_key_value().map(|(key, _)| *key);
        let is_back = newest.is_some_and(|(part, newest)| part == self.part && minute < newest);
        if is_back && !self.counts.contains_key(&(self.part, minute)) {
            self.part += 1;
        }
        let key = (self.part, minute);
        if self.counts.len() >= MAX_MINUTES && !self.counts.contains_key(&key) {
            self.counts.pop_first();
        }
        let before = newest.and_then(|newest| self.counts.get(&newest));
        let owners = before.map_or(0, |before| before.shares.owners());
        let shares = || PeriodShares::after(owners, MAX_SERIES);
        self.counts
            .entry(key)
            .or_insert_with(|| MinuteCounts { all: IdMap::default(), shares: shares() })
    }
}

/// Returns the figures to count in: of the target or, if there are too many targets, of its tenant or the
/// gateway.
fn figures(counts: &mut MinuteCounts, series: Series) -> &mut Figures {
    let series = counts.series_to_count(series);
    let count = counts.all.entry(series).or_default();
    count.is_changed = true;
    &mut count.figures
}

impl MinuteCounts {
    fn series_to_count(&mut self, series: Series) -> Series {
        let Some(tenant) = series.tenant() else { return series };
        if self.all.contains_key(&series) || self.shares.take(tenant) {
            return series;
        }
        let wide = Series::of_tenant(tenant, series.lane());
        let is_countable = self.all.len() < 2 * MAX_SERIES || self.all.contains_key(&wide);
        if is_countable { wide } else { Series::of_gateway(series.lane()) }
    }
}

/// Returns the changed rows of a minute and the sums that they are part of, in order.
fn changed_rows(minute: Time, counts: Vec<(Series, Figures, bool)>) -> Vec<MinuteFigures> {
    let mut sums: BTreeMap<Series, (Figures, bool)> = BTreeMap::new();
    for (series, figures, is_changed) in counts {
        let above = [
            Some(Series::of_gateway(series.lane())),
            series.tenant().map(|tenant| Series::of_tenant(tenant, series.lane())),
            series.target().map(|_| series),
        ];
        for series in above.into_iter().flatten() {
            let (sum, has_changed) = sums.entry(series).or_default();
            sum.merge(&figures);
            *has_changed |= is_changed;
        }
    }
    let changed = sums.into_iter().filter(|(_, (_, has_changed))| *has_changed);
    changed.map(|(series, (figures, _))| MinuteFigures { series, minute, figures }).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

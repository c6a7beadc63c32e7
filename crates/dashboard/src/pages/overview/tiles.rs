//! The five figures, each with its line and the difference from the previous range.

use super::{Queue, range::Range};
use crate::{
    charts,
    params::Link,
    sentence::{Html, Sentence},
    statistics::{Bin, Counts, Figures, Stats},
    texts::{Rate, Texts},
    visit::Visit,
};

pub struct Tile {
    pub label: Sentence,
    pub number: String,
    pub unit: String,
    pub note: Option<Sentence>,
    pub is_worse: bool,
    pub spark: Html,
    pub link: Link,
}

pub fn tiles(
    visit: &Visit,
    range: Range,
    stats: &Stats,
    before: Option<Counts>,
    queues: &[Queue],
    dead: u64,
) -> Vec<Tile> {
    let now = stats.totals.counts();
    let context = Context { visit, t: visit.t, range, stats, now, before };
    vec![
        context.delivered(),
        context.first_attempt(),
        context.delivery_time(),
        context.oldest(queues),
        context.dead_letters(dead),
    ]
}

struct Context<'a> {
    visit: &'a Visit,
    t: Texts,
    range: Range,
    stats: &'a Stats,
    now: Counts,
    before: Option<Counts>,
}

const NO_NUMBER: &str = "–";

impl Context<'_> {
    /// Draws a line through a value of each bin that is over.
    fn spark(&self, value: impl Fn(&Figures) -> Option<f64>) -> Html {
        let bins = self.stats.bins.split_last().map_or(&[][..], |(_, over)| over);
        let values: Vec<_> = bins.iter().map(|Bin { figures, .. }| value(figures)).collect();
        charts::spark(&values)
    }

    fn delivered(&self) -> Tile {
        let t = &self.t;
        let Rate { number, unit } = t.rate(self.now.delivered, self.stats.elapsed(t.now));
        let per_second = self.now.delivered as f64 / self.stats.elapsed(t.now).as_secs_f64();
        let note = self.before.map(|before| {
            let before = before.delivered as f64 / self.range.length().as_secs_f64();
            let change = per_second / before - 1.0;
            let note = match change {
                ..=-0.005 => t.say("overview.below"),
                0.005.. => t.say("overview.above"),
                _ => t.say("overview.same"),
            };
            note.with("n", t.percent(change.abs())).with("range", self.range)
        });
        Tile {
            label: t.say("overview.delivered"),
            number,
            unit: unit.to_owned(),
            note,
            is_worse: false,
            spark: self.spark(|figures| Some(figures.delivered as f64)),
            link: self.visit.link("/deliveries"),
        }
    }

    fn first_attempt(&self) -> Tile {
        let t = &self.t;
        let share = self.now.first_share();
        let shares = share.zip(self.before.and_then(|before| before.first_share()));
        let points = shares.map(|(now, before)| (now - before) * 100.0);
        let note = points.map(|points| {
            let note = match points {
                ..=-0.05 => t.say("overview.points_below"),
                0.05.. => t.say("overview.points_above"),
                _ => t.say("overview.same"),
            };
            note.with("n", t.decimal(points.abs())).with("range", self.range)
        });
        let ended = t.count("overview.of_ended", self.now.ended());
        let note = Some(match note {
            Some(note) => t.say("overview.both").html("one", ended.into()).html("two", note.into()),
            None => ended,
        });
        let (number, unit) = share.map_or((NO_NUMBER.to_owned(), ""), |share| {
            (t.percent(share).trim_end_matches([' ', '%']).to_owned(), "%")
        });
        Tile {
            label: t.say("overview.first_attempt"),
            number,
            unit: unit.to_owned(),
            note,
            is_worse: points.is_some_and(|points| points <= -0.05),
            spark: self.spark(|figures| figures.counts().first_share()),
            link: self.visit.link("/endpoints"),
        }
    }

    fn delivery_time(&self) -> Tile {
        let t = &self.t;
        let time = self.stats.totals.delivery_time;
        let shown = time.map_or_else(|| NO_NUMBER.to_owned(), |time| t.estimate(time.p95));
        let (number, unit) = shown.rsplit_once(' ').unwrap_or((&shown, ""));
        let note = time.map(|time| {
            let note = t.say("overview.delivery_time_note");
            note.with("p50", t.estimate(time.median)).with("p99", t.estimate(time.p99))
        });
        Tile {
            label: t.say("overview.delivery_time"),
            number: number.to_owned(),
            unit: unit.to_owned(),
            note,
            is_worse: false,
            spark: self.spark(|figures| Some(figures.delivery_time?.p95.millis())),
            link: self.visit.link("/deliveries"),
        }
    }

    /// Returns the age of the oldest delivery in the lanes, which all tenants share.
    fn oldest(&self, queues: &[Queue]) -> Tile {
        let t = &self.t;
        let oldest = queues.iter().filter_map(|queue| queue.oldest_due_at).min();
        let waiting: u64 = queues.iter().map(|queue| queue.depth).sum();
        Tile {
            label: t.say("overview.oldest"),
            number: oldest.map_or_else(|| NO_NUMBER.to_owned(), |oldest| t.age(&oldest)),
            unit: String::new(),
            note: Some(match self.visit.tenant {
                Some(_) => t.count("overview.waiting_all", waiting),
                None => t.count("overview.waiting", waiting),
            }),
            is_worse: false,
            spark: Html::default(),
            link: self.visit.link("/queues"),
        }
    }

    fn dead_letters(&self, dead: u64) -> Tile {
        let t = &self.t;
        let note = match self.before {
            Some(before) => t
                .count("overview.dead_note", self.now.dead_letters)
                .with("before", t.number(before.dead_letters)),
            None => t.count("overview.dead_note_short", self.now.dead_letters),
        };
        let before = self.before.map_or(0, |before| before.dead_letters);
        Tile {
            label: t.say("nav.dead_letters"),
            number: t.number(dead),
            unit: String::new(),
            note: Some(note.with("range", self.range)),
            is_worse: self.now.dead_letters > before,
            spark: self.spark(|figures| Some(figures.dead_letters as f64)),
            link: self.visit.link("/dead-letters"),
        }
    }
}

//! The tenants' shares of the gateway: which sends most, and does any wait longer than the others?

use serde::Deserialize;

use crate::{escape::Text, sentence::Html, statistics::Figures, texts::Texts};

/// Maximum tenants that are shown.
const MAX_SHOWN: usize = 8;

#[derive(Deserialize, Clone)]
pub struct TenantStats {
    slug: Text,
    name: Text,
    totals: Figures,
}

/// The tenants that sent most, and the sum of the others.
pub struct TenantShares {
    pub rows: Vec<Share>,
    /// The number of the others, and their share of deliveries.
    others: Option<(u64, f64)>,
    /// How many tenants were read, if there are more.
    first: Option<u64>,
}

pub struct Share {
    pub slug: Text,
    pub name: Text,
    /// The share of all deliveries, from 0 to 1.
    part: f64,
    figures: Figures,
}

impl TenantShares {
    /// Computes the shares. `first` is how many tenants were read, if there are more.
    pub fn of(mut tenants: Vec<TenantStats>, first: Option<u64>) -> Self {
        tenants.retain(|one| one.totals.accepted + one.totals.delivered > 0);
        tenants.sort_by_key(|one| std::cmp::Reverse((one.totals.delivered, one.totals.accepted)));
        let total: u64 = tenants.iter().map(|one| one.totals.delivered).sum();
        let share = |delivered: u64| delivered as f64 / total.max(1) as f64;
        let others = tenants.split_off(tenants.len().min(MAX_SHOWN));
        let delivered: u64 = others.iter().map(|one| one.totals.delivered).sum();
        let row = |one: TenantStats| Share {
            part: share(one.totals.delivered),
            slug: one.slug,
            name: one.name,
            figures: one.totals,
        };
        Self {
            rows: tenants.into_iter().map(row).collect(),
            others: (!others.is_empty()).then(|| (others.len() as u64, share(delivered))),
            first,
        }
    }

    /// Returns what the table leaves out.
    pub fn rest(&self, t: &Texts) -> Option<Html> {
        let others = self.others.map(|(count, share)| {
            t.count("overview.other_tenants", count).with("share", t.percent(share)).to_string()
        });
        let first = self.first.map(|first| t.count("overview.first_tenants", first).to_string());
        let parts: Vec<String> = others.into_iter().chain(first).collect();
        (!parts.is_empty()).then(|| Html::trusted(parts.join(" ")))
    }
}

impl Share {
    pub fn percent(&self, t: &Texts) -> String {
        t.percent(self.part)
    }

    /// Returns the share as a bar of the table.
    pub fn meter(&self) -> String {
        format!("{:.3}", self.part)
    }

    pub fn delivered(&self) -> u64 {
        self.figures.delivered
    }

    /// Returns how many were accepted in the range, and neither delivered nor given up in it.
    pub fn open(&self) -> u64 {
        let ended = self.figures.delivered + self.figures.dead_letters;
        self.figures.accepted.saturating_sub(ended)
    }

    /// Returns the time from acceptance to delivery.
    pub fn delivery_time(&self, t: &Texts) -> String {
        self.figures.delivery_time.map_or_else(String::new, |time| t.estimate(time.p95))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(slug: &str, accepted: u64, delivered: u64) -> TenantStats {
        let totals = Figures { accepted, delivered, ..Figures::default() };
        TenantStats { slug: slug.into(), name: slug.into(), totals }
    }

    #[test]
    fn those_who_sent_most_come_first_and_the_rest_is_summed() {
        let mut tenants: Vec<_> = (0..9).map(|n| sent(&format!("t{n}"), 10, 10)).collect();
        tenants.push(sent("big", 110, 100));
        tenants.push(sent("idle", 0, 0));
        let shares = TenantShares::of(tenants, None);
        assert_eq!(shares.rows.len(), MAX_SHOWN);
        let big = &shares.rows[0];
        assert_eq!((big.slug.as_str(), big.open(), big.meter().as_str()), ("big", 10, "0.526"));
        let (count, share) = shares.others.unwrap();
        assert_eq!(count, 2);
        assert!((share - 20.0 / 190.0).abs() < 1e-9);
    }
}

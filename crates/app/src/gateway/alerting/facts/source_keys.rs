//! Active sources that have no valid key, or soon will have none: all their webhooks are refused then.

use gancho_alerts::KeylessSource;
use gancho_domain::Time;
use gancho_inbound::{SourceError, SourceKey, registry::ProofKeys};
use gancho_store::{Result, StoreError};

use super::{GatewayFacts, KEY_NOTICE};

const MAX_SOURCES: usize = 500;

impl GatewayFacts {
    pub(super) async fn keyless_sources(&self, now: Time) -> Result<Vec<KeylessSource>> {
        let Some(parts) = &self.inbound else { return Ok(Vec::new()) };
        let prepared = parts.sources.sources.all().await?;
        let mut keyless = Vec::new();
        for source in parts.sources.list(None, MAX_SOURCES).await.map_err(store_error)? {
            let proving = prepared.of_tenant(source.tenant());
            // The key is Amazon's.
            let is_sns = proving.is_some_and(|one| matches!(one.proving, ProofKeys::Sns(_)));
            if !source.is_active || is_sns {
                continue;
            }
            let keys = parts.sources.keys(&source.partner).await.map_err(store_error)?;
            let periods: Vec<_> = keys.iter().map(period).collect();
            let Some(gap) = first_gap(&periods, now, now + KEY_NOTICE) else { continue };
            let ended = keys.iter().filter_map(|key| Some((key.not_after()?, &key.key_id)));
            let last = ended.filter(|(end, _)| *end <= gap).max();
            keyless.push(KeylessSource {
                partner: source.partner.to_string(),
                last_key: last.map(|(end, key)| (key.clone(), end)),
                is_refusing: gap <= now,
            });
        }
        Ok(keyless)
    }
}

/// When a key starts and stops being valid.
type ValidityPeriod = (Option<Time>, Option<Time>);

fn period(key: &SourceKey) -> ValidityPeriod {
    (key.not_before(), key.not_after())
}

/// Returns the first moment from `now` on and before `until` at which no key is valid.
fn first_gap(periods: &[ValidityPeriod], now: Time, until: Time) -> Option<Time> {
    let mut at = now;
    while at < until {
        let valid = periods.iter().filter(|(begin, end)| {
            begin.is_none_or(|begin| begin <= at) && end.is_none_or(|end| at < end)
        });
        // The end is after `at`, so this terminates.
        match valid.map(|(_, end)| end.unwrap_or(until)).max() {
            Some(end) => at = end,
            None => return Some(at),
        }
    }
    None
}

fn store_error(error: SourceError) -> StoreError {
    match error {
        SourceError::Store(error) => error,
        other => StoreError::Corrupt(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_between_keys_counts_and_an_overlap_does_not() {
        let at = |day: i64| Time::from_secs(day * 86_400);
        let gap = |periods: &[ValidityPeriod]| first_gap(periods, at(10), at(17));
        assert_eq!(gap(&[]), Some(at(10)));
        assert_eq!(gap(&[(None, None)]), None);
        assert_eq!(gap(&[(None, Some(at(9)))]), Some(at(10)), "it has ended");
        assert_eq!(gap(&[(None, Some(at(13)))]), Some(at(13)), "it ends soon");
        assert_eq!(gap(&[(None, Some(at(17)))]), None);
        assert_eq!(gap(&[(None, Some(at(13))), (Some(at(14)), None)]), Some(at(13)));
        assert_eq!(gap(&[(None, Some(at(13))), (Some(at(13)), None)]), None);
        assert_eq!(gap(&[(Some(at(11)), None)]), Some(at(10)), "it has not begun");
    }
}

//! Assigns the ids of a source's targets. Deliveries refer to the id, so a target that keeps its id gets the
//! deliveries that wait for it.

use gancho_domain::EndpointId;

use crate::{Source, source::DispatchTarget};

/// Maximum retired targets that are stored; the oldest are dropped first.
const MAX_RETIRED: usize = 50;

/// Makes `urls` the source's targets. A URL that stays keeps its id. A URL that replaces another takes its
/// id, so that waiting deliveries go to the new URL. A URL that was removed earlier gets its former id. All
/// others get a new one.
pub(super) fn replace(
    source: &mut Source,
    urls: Vec<String>,
    mut new_id: impl FnMut() -> EndpointId,
) {
    let mut old: Vec<Option<DispatchTarget>> =
        std::mem::take(&mut source.targets).into_iter().map(Some).collect();
    let mut ids: Vec<Option<EndpointId>> = vec![None; urls.len()];
    for (id, url) in ids.iter_mut().zip(&urls) {
        *id = take(&mut old, |target| target.url == *url);
    }
    // The URL at the same position in the list is the likeliest replacement.
    for (place, id) in ids.iter_mut().enumerate() {
        if id.is_none() {
            *id = old.get_mut(place).and_then(Option::take).map(|target| target.id);
        }
    }
    let retired = &mut source.retired_targets;
    for (id, url) in ids.iter_mut().zip(&urls).filter(|(id, _)| id.is_none()) {
        *id = take(&mut old, |_| true).or_else(|| {
            let found = retired.iter().rposition(|target| target.url == *url);
            found.map(|place| retired.remove(place).id)
        });
    }
    source.targets = urls
        .into_iter()
        .zip(ids)
        .map(|(url, id)| DispatchTarget { id: id.unwrap_or_else(&mut new_id), url })
        .collect();
    source.retired_targets.extend(old.into_iter().flatten());
    let excess = source.retired_targets.len().saturating_sub(MAX_RETIRED);
    source.retired_targets.drain(..excess);
}

fn take(
    old: &mut [Option<DispatchTarget>],
    fits: impl Fn(&DispatchTarget) -> bool,
) -> Option<EndpointId> {
    let found = old.iter_mut().find(|target| target.as_ref().is_some_and(&fits));
    found.and_then(Option::take).map(|target| target.id)
}

#[cfg(test)]
mod tests {
    use gancho_domain::{SourceId, Time};

    use super::*;

    /// Returns the ids that each list of URLs gets, one list after the other.
    fn ids(steps: &[&[&str]]) -> Vec<Vec<u128>> {
        let id = SourceId::from_bits(1);
        let mut source = Source::blank(id, "acme".parse().unwrap(), Time::from_secs(0));
        let mut last = 0;
        let mut new_id = || {
            last += 1;
            EndpointId::from_bits(last)
        };
        let step = |urls: &&[&str]| {
            let urls = urls.iter().map(|&url| url.to_owned()).collect();
            replace(&mut source, urls, &mut new_id);
            source.targets.iter().map(|target| target.id.bits()).collect()
        };
        steps.iter().map(step).collect()
    }

    #[test]
    fn an_id_outlives_its_url() {
        for (steps, expected) in [
            (&[&["a"][..], &["b"], &["a"]][..], vec![vec![1], vec![1], vec![1]]),
            (&[&["a", "b"], &["b", "a"]], vec![vec![1, 2], vec![2, 1]]),
            (&[&["a", "b"], &["c", "b"]], vec![vec![1, 2], vec![1, 2]]),
            (&[&["a", "b"], &["a", "c"]], vec![vec![1, 2], vec![1, 2]]),
            (&[&["a", "b"], &["b", "c"]], vec![vec![1, 2], vec![2, 1]]),
            (&[&["a", "b"], &["c", "d"]], vec![vec![1, 2], vec![1, 2]]),
            (&[&["a"], &["b", "a"]], vec![vec![1], vec![2, 1]]),
        ] {
            assert_eq!(ids(steps), expected, "{steps:?}");
        }
    }

    #[test]
    fn one_that_was_taken_away_comes_back_with_its_id() {
        let steps = &[&["a", "b"][..], &["b"], &["b", "c"], &["c", "b", "a"]];
        let expected = vec![vec![1, 2], vec![2], vec![2, 3], vec![3, 2, 1]];
        assert_eq!(ids(steps), expected);
        // If one URL replaces another, the deliveries of the replaced one take precedence.
        assert_eq!(ids(&[&["a", "b"][..], &["b"], &["a"]]), vec![vec![1, 2], vec![2], vec![2]]);
    }

    #[test]
    fn the_number_of_targets_remembered_is_bounded() {
        let many: Vec<String> = (0..=2 * MAX_RETIRED).map(|n| format!("u{n}")).collect();
        let pairs: Vec<[&str; 2]> = many.iter().map(|url| ["a", url.as_str()]).collect();
        let mut steps: Vec<&[&str]> = Vec::new();
        for pair in &pairs {
            steps.extend([&pair[..], &pair[..1]]);
        }
        steps.push(&pairs[0]);
        let given = ids(&steps);
        assert_ne!(given.last().unwrap()[1], given[0][1], "forgotten");
        steps.push(&pairs[0][..1]);
        steps.push(&pairs[2 * MAX_RETIRED]);
        let given = ids(&steps);
        assert_eq!(given.last().unwrap()[1], given[4 * MAX_RETIRED][1], "remembered");
    }
}

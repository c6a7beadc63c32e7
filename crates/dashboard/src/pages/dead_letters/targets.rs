//! The state of the endpoints that a replay would send to, without those that simply work.

use std::collections::HashMap;

use super::{DeadLetter, filter::Filter};
use crate::{
    pages::{endpoint_facts::EndpointFacts, list::List},
    params::{Link, segment},
    sentence::{Html, Sentence},
    status_mark::StatusMark,
    texts::Texts,
    visit::{ApiResult, Visit},
};

/// Maximum dead letters whose endpoints are read: the newest that match.
const MAX_ROWS: usize = 500;
/// Maximum endpoints that are read and shown, those with most dead letters first.
const MAX_TARGETS: usize = 50;
const MAX_SHOWN: usize = 6;

pub struct Targets {
    pub troubled: Vec<Target>,
    /// Whether all endpoints that were read work.
    pub is_fine: bool,
    /// How many were read, if there are more.
    pub first: Option<u64>,
}

/// An endpoint that is paused, failing or disabled.
pub struct Target {
    pub mark: StatusMark,
    pub word: Sentence,
    pub text: Html,
}

impl Targets {
    /// Reads the endpoints of the matching dead letters, or the one endpoint that they are redirected to.
    pub async fn read(visit: &Visit, filter: &Filter, to: &str) -> ApiResult<Self> {
        let link = filter.to_api("/v1/dlq").with("limit", MAX_ROWS);
        let List { data, next_cursor } = visit.get::<List<DeadLetter>>(link).await?;
        let looked_at = data.len() as u64;
        let mut counts: HashMap<String, u64> = HashMap::new();
        for id in data.into_iter().filter_map(|row| row.target_id) {
            let id = if to.is_empty() { id } else { to.to_owned() };
            *counts.entry(id).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        let has_targets = !counts.is_empty();
        let mut troubled = Vec::new();
        for (id, count) in counts.into_iter().take(MAX_TARGETS) {
            let link = Link::new(format!("/v1/webhooks/{}", segment(&id)));
            // A deleted endpoint is among those that are left out.
            let Ok(facts) = visit.get::<EndpointFacts>(link).await else { continue };
            if !matches!(
                facts.mark(),
                StatusMark::Delivered | StatusMark::Pending | StatusMark::Warning
            ) {
                troubled.push(Target::of(visit, &facts, count));
            }
        }
        let is_fine = has_targets && troubled.is_empty();
        troubled.truncate(MAX_SHOWN);
        Ok(Self { troubled, is_fine, first: next_cursor.map(|_| looked_at) })
    }
}

impl Target {
    fn of(visit: &Visit, facts: &EndpointFacts, count: u64) -> Self {
        let t: &Texts = &visit.t;
        let page = visit.link(format!("/endpoints/{}", segment(&facts.id)));
        let page = match &facts.tenant {
            Some(tenant) => page.with("tenant", tenant.as_str()),
            None => page,
        };
        let sentence = match facts.mark() {
            StatusMark::Disabled => t.count("dead.to_disabled", count),
            StatusMark::Paused => t.count("dead.to_paused", count),
            _ => t.count("dead.to_failing", count),
        };
        Self {
            mark: facts.mark(),
            word: facts.state(t),
            text: sentence.link("name", page, facts.title()).into(),
        }
    }
}

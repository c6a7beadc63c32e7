//! What the API finds by a text, and the page of each match.

use serde::Deserialize;

use crate::{
    display_time::DisplayTime,
    escape::Text,
    params::{Link, segment},
    problem::Problem,
    sentence::Sentence,
    texts::Texts,
    visit::Visit,
};

#[derive(Deserialize)]
pub struct SearchResult {
    pub data: Vec<Match>,
    /// Whether everything was searched.
    pub is_complete: bool,
}

#[derive(Deserialize)]
pub struct Match {
    r#type: String,
    pub id: String,
    /// Whether the text is its id.
    is_id: bool,
    pub tenant: Option<Text>,
    partner: Option<String>,
    name: Option<Text>,
    pub created_at: Option<DisplayTime>,
}

/// Searches all tenants if the text is an id, and otherwise the tenant of the page, if it has one.
pub async fn find(visit: &Visit, text: &str) -> Result<SearchResult, Problem> {
    let link = Link::new("/v1/search").with("q", text);
    let found: Result<SearchResult, _> = visit.get_as_operator(link.clone()).await;
    let found = match found {
        Ok(found) if visit.tenant.is_none() || found.has_id() => Ok(found),
        Ok(_) => visit.get(link).await,
        Err(problem) => Err(problem),
    };
    match found {
        // A text that is too long to be searched has no match.
        Err(problem) if problem.is_filter() => {
            Ok(SearchResult { data: Vec::new(), is_complete: true })
        }
        found => found,
    }
}

/// Returns the tenant of the object with this id, among all tenants.
pub async fn owner(visit: &Visit, id: &str) -> Option<Text> {
    let link = Link::new("/v1/search").with("q", id);
    let found: SearchResult = visit.get_as_operator(link).await.ok()?;
    found.data.into_iter().find(|one| one.is_id)?.tenant
}

impl SearchResult {
    fn has_id(&self) -> bool {
        self.data.iter().any(|one| one.is_id)
    }

    /// Returns the only match that has this id.
    pub fn only_id(&self) -> Option<&Match> {
        match self.data.as_slice() {
            [one] if one.is_id => Some(one),
            _ => None,
        }
    }

    /// Returns the tenants whose events have this external id.
    pub fn owners_of_events(&self) -> Vec<&Text> {
        let events = self.data.iter().filter(|one| one.r#type == "event" && !one.is_id);
        let mut owners: Vec<&Text> = events.filter_map(|one| one.tenant.as_ref()).collect();
        owners.dedup_by(|one, other| one.as_str() == other.as_str());
        owners
    }
}

impl Match {
    pub fn title(&self) -> Text {
        let name = self.name.as_ref();
        name.filter(|name| !name.is_empty()).cloned().unwrap_or_else(|| self.id.as_str().into())
    }

    pub fn kind(&self, t: &Texts) -> Sentence {
        match self.r#type.as_str() {
            "event" => t.say("search.kind.event"),
            "delivery" => t.say("search.kind.delivery"),
            "webhook" => t.say("search.kind.endpoint"),
            "email" => t.say("search.kind.email"),
            "source" => t.say("search.kind.source"),
            "receipt" => t.say("search.kind.receipt"),
            "replay" => t.say("search.kind.replay"),
            "tenant" => t.say("search.kind.tenant"),
            "api_key" => t.say("search.kind.api_key"),
            _ => t.say("search.kind.event_type"),
        }
    }

    /// Returns its page, limited to its tenant. An event type links to its events.
    pub fn page(&self, visit: &Visit) -> Link {
        let of = |path: &str| visit.page(format!("{path}/{}", segment(&self.id)));
        let tenant = self.tenant.as_ref().map(Text::as_str);
        let partner = || segment(self.partner.as_deref().unwrap_or_default());
        match self.r#type.as_str() {
            "event" => of("/events").maybe("tenant", tenant),
            "delivery" => of("/deliveries").maybe("tenant", tenant),
            "webhook" => of("/endpoints").maybe("tenant", tenant),
            "replay" => of("/replays").maybe("tenant", tenant),
            "email" => visit.page("/emails").maybe("tenant", tenant).with("peek", &self.id),
            "source" => visit.page(format!("/sources/{}", partner())),
            "receipt" => {
                visit.page(format!("/sources/{}/receipts/{}", partner(), segment(&self.id)))
            }
            "tenant" | "api_key" => {
                visit.page(format!("/tenants/{}", segment(tenant.unwrap_or_default())))
            }
            _ => visit.link("/events").with("type", &self.id),
        }
    }
}

//! Finds who did something most recently, by the audit log: paused an object, or started a replay.

use std::time::Duration;

use serde::Deserialize;

use super::list::List;
use crate::{
    display_time::DisplayTime,
    escape::Text,
    params::Link,
    sentence::{Html, Sentence},
    texts::Texts,
    visit::Visit,
};

/// Maximum pages that are read. A page of the audit log scans a limited number of actions.
const MAX_PAGES: usize = 5;

/// Maximum difference between the clocks of two nodes, and maximum delay until an action is recorded.
const CLOCK_SKEW: Duration = Duration::from_secs(5);
const BEGINNING: Duration = Duration::from_mins(1);

/// A completed action.
#[derive(Deserialize)]
pub struct LastAction {
    at: DisplayTime,
    actor: Actor,
    /// The actor's reason.
    reason: Option<Text>,
}

#[derive(Deserialize)]
struct Actor {
    kind: String,
    name: Option<Text>,
}

impl LastAction {
    /// Returns the newest action of this operation on an object, among those that the reader may see.
    pub async fn on(visit: &Visit, operation: &str, resource: &str) -> Option<Self> {
        let link = Link::new("/v1/audit").with("operation", operation).with("resource", resource);
        read(visit, link, visit.visitor.operator().is_some()).await
    }

    /// Returns the newest action of this operation on the tenant that the visit is limited to.
    pub async fn on_tenant(visit: &Visit, operation: &str) -> Option<Self> {
        visit.tenant.as_ref()?;
        read(visit, Link::new("/v1/audit").with("operation", operation), false).await
    }

    /// Returns who paused an endpoint, or what it is a part of: the tenant of the visit, or the lane.
    pub async fn pausing(visit: &Visit, paused_by: &str, endpoint: &str) -> Option<Self> {
        match paused_by {
            "tenant" | "lane" if visit.is_portal() => None,
            "tenant" => Self::on_tenant(visit, "pauseTenant").await,
            "lane" => Self::on(visit, "pauseQueue", "webhook").await,
            _ => Self::on(visit, "pauseWebhook", endpoint).await,
        }
    }

    /// Returns the action that started a replay at this time.
    pub async fn beginning(visit: &Visit, replay: &str, at: &DisplayTime) -> Option<Self> {
        let link = Link::new("/v1/audit").with("outcome", "done").with("limit", 50);
        let link = link.with("since", at.time() - CLOCK_SKEW).with("until", at.time() + BEGINNING);
        let mut of_replay = acts(visit, link.clone().with("resource", replay)).await;
        // The oldest, because a later one canceled it.
        if let Some(act) = of_replay.pop() {
            return Some(act);
        }
        // Receipts are dispatched again under the name of their source. If there are several actions, it may
        // be any of them.
        let mut of_receipts = acts(visit, link.with("operation", "retryReceipts")).await;
        of_receipts.pop().filter(|_| of_receipts.is_empty())
    }

    /// Returns the actor in a few words.
    pub fn who(&self, t: &Texts) -> Html {
        let named = |sentence: Sentence| match &self.actor.name {
            Some(name) => sentence.with("name", name).into(),
            None => t.say("actor.someone").into(),
        };
        match self.actor.kind.as_str() {
            "user" => named(t.say("actor.user")),
            "api_key" => named(t.say("actor.api_key")),
            "portal" => t.say("actor.portal").into(),
            _ if t.is_portal => t.say("actor.operator").into(),
            _ => t.say("actor.operator_token").into(),
        }
    }

    /// Returns text such as `Started by ana.`
    pub fn started(&self, t: &Texts) -> Sentence {
        t.say("actor.started").html("who", self.who(t))
    }

    /// Returns text such as `Last changed by ana, 2 h ago.`
    pub fn changed(&self, t: &Texts) -> Sentence {
        t.say("actor.changed").html("who", self.who(t)).html("ago", t.ago(&self.at))
    }

    /// Returns text such as `Paused by ana, 2 h ago.` or `Paused by ana, 2 h ago: “moving their servers”`.
    pub fn paused(&self, t: &Texts) -> Sentence {
        let sentence = match &self.reason {
            Some(reason) => t.say("actor.paused_because").with("reason", reason),
            None => t.say("actor.paused"),
        };
        sentence.html("who", self.who(t)).html("ago", t.ago(&self.at))
    }
}

/// Returns a page of actions, newest first.
async fn acts(visit: &Visit, link: Link) -> Vec<LastAction> {
    let found = page(visit, link, visit.visitor.operator().is_some()).await;
    found.map(|list| list.data).unwrap_or_default()
}

async fn page(visit: &Visit, link: Link, is_of_all: bool) -> Option<List<LastAction>> {
    let found = if is_of_all { visit.get_as_operator(link).await } else { visit.get(link).await };
    found.ok()
}

async fn read(visit: &Visit, link: Link, is_of_all: bool) -> Option<LastAction> {
    let mut link = link.with("outcome", "done").with("limit", 1);
    for _ in 0..MAX_PAGES {
        let List { data, next_cursor } = page(visit, link.clone(), is_of_all).await?;
        match (data.into_iter().next(), next_cursor) {
            (Some(act), _) => return Some(act),
            (None, Some(cursor)) => link = link.with("cursor", cursor),
            (None, None) => return None,
        }
    }
    None
}

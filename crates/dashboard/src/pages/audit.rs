//! `/ui/audit`: who changed what?

use std::collections::HashMap;

use askama::Template;
use http::StatusCode;
use serde::Deserialize;

use super::{audit_acts, list::List};
use crate::{
    display_time::DisplayTime,
    escape::Text,
    handlers::PageResult,
    page,
    params::{Link, segment},
    problem::FormErrors,
    sentence::{Html, Sentence},
    shell::Shell,
    status_mark::StatusMark,
    texts::Texts,
    visit::Visit,
};

const PATH: &str = "/audit";
/// The filters in the URL.
const FILTERS: [&str; 7] =
    ["actor_kind", "actor", "operation", "resource", "outcome", "since", "until"];

#[derive(Deserialize)]
struct AuditRow {
    at: DisplayTime,
    actor: Actor,
    tenant_id: Option<String>,
    operation: Text,
    summary: Text,
    resource: Option<String>,
    code: Option<Text>,
    request_id: Option<Text>,
    address: Option<Text>,
    reason: Option<Text>,
}

#[derive(Deserialize)]
struct Actor {
    kind: String,
    name: Option<Text>,
}

impl AuditRow {
    fn who(&self, t: &Texts) -> Sentence {
        let word = match self.actor.kind.as_str() {
            "user" => "audit.user",
            "api_key" => "audit.api_key",
            "portal" => "audit.portal",
            "anonymous" => "audit.anonymous",
            _ => "audit.operator",
        };
        t.say(word)
    }

    /// Returns the action in the reader's language. One of a newer version has the API's words.
    fn what(&self, t: &Texts) -> Html {
        match audit_acts::key(self.operation.as_str()) {
            Some(key) => t.say(key).into(),
            None => Html::text(&self.summary),
        }
    }

    fn mark(&self) -> StatusMark {
        if self.code.is_some() { StatusMark::Failed } else { StatusMark::Delivered }
    }

    fn outcome(&self, t: &Texts) -> Sentence {
        if self.code.is_some() { t.say("audit.refused") } else { t.say("audit.done") }
    }

    fn resource_text(&self) -> Text {
        self.resource.as_deref().unwrap_or_default().into()
    }

    /// Returns the page of what was changed, if it has one.
    fn page(&self) -> Option<Link> {
        let id = self.resource.as_deref()?;
        let operation = self.operation.as_str();
        let is_about = |noun: &str| operation.contains(noun);
        let below = |path: &str| Link::new(format!("/ui/{path}/{}", segment(id)));
        let page = match id.split_once('_').map_or("", |(prefix, _)| prefix) {
            "wh" => below("endpoints"),
            "dlv" => below("deliveries"),
            "evt" => below("events"),
            "rpl" => below("replays"),
            "ten" => below("tenants"),
            // Its page has the name of the partner.
            "src" => Link::new("/ui/sources"),
            "key" => {
                let tenant = self.tenant_id.as_deref()?;
                Link::new(format!("/ui/tenants/{}", segment(tenant)))
            }
            _ if is_about("User") || operation == "log_in" => below("users"),
            _ if is_about("Tenant") => below("tenants"),
            // It is named after both.
            _ if is_about("SourceKey") => {
                let partner = id.split_once('/').map_or(id, |(partner, _)| partner);
                Link::new(format!("/ui/sources/{}", segment(partner)))
            }
            _ if is_about("Source") => below("sources"),
            _ if is_about("Queue") => Link::new("/ui/queues"),
            _ => return None,
        };
        Some(page.maybe("tenant", self.tenant_id.as_deref()))
    }
}

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage {
    t: Texts,
    s: Shell,
    rows: Vec<AuditRow>,
    /// Names of tenants by id.
    tenants: HashMap<String, Text>,
    /// The typed actor.
    actor: String,
    operation: String,
    resource: String,
    outcome: String,
    since: String,
    until: String,
    is_filtered: bool,
    next: Option<Link>,
    errors: FormErrors,
}

impl AuditPage {
    /// Returns the tenant of the action; its id if it was deleted.
    fn tenant(&self, act: &AuditRow) -> Option<Text> {
        let id = act.tenant_id.as_ref()?;
        Some(self.tenants.get(id).cloned().unwrap_or_else(|| id.as_str().into()))
    }

    /// Whether the page has the filter with the invalid value, and marks it.
    fn is_marked(&self) -> bool {
        ["actor", "operation", "resource", "since", "until"]
            .iter()
            .any(|name| self.errors.has_parameter(name))
    }

    /// Returns the log with one filter set to another value, from its first page.
    fn with(&self, name: &str, value: impl std::fmt::Display) -> Link {
        filtered(&self.s.visit, self.s.link(PATH)).with(name, value)
    }
}

async fn tenant_names(visit: &Visit, acts: &[AuditRow]) -> HashMap<String, Text> {
    let mut names = HashMap::new();
    for id in acts.iter().filter_map(|act| act.tenant_id.as_ref()) {
        if !names.contains_key(id)
            && let Ok(Some(tenant)) = visit.dashboard.backend.tenant(id).await
        {
            names.insert(id.clone(), tenant.name.as_str().into());
        }
    }
    names
}

fn filtered(visit: &Visit, link: Link) -> Link {
    FILTERS.iter().fold(link, |link, name| link.maybe(name, visit.params.get(name)))
}

pub async fn show(visit: Visit) -> PageResult {
    let t = visit.t;
    let link = filtered(&visit, Link::new("/v1/audit").with("limit", 50));
    let link = link.maybe("cursor", visit.params.get("cursor"));
    // A typed filter may be invalid, which the page shows.
    let (found, errors) = match visit.get::<List<AuditRow>>(link).await {
        Ok(found) => (found, FormErrors::default()),
        Err(problem) if problem.is_input() => (List::default(), problem.into()),
        Err(problem) => return Err(problem),
    };
    let next = found.next_cursor;
    let next = next.map(|cursor| filtered(&visit, visit.link(PATH)).with("cursor", cursor));
    let typed = |name: &str| visit.params.text(name).to_owned();
    let template = AuditPage {
        t,
        s: Shell::new(&visit, PATH, t.say("nav.audit")).await,
        tenants: tenant_names(&visit, &found.data).await,
        rows: found.data,
        actor: typed("actor"),
        operation: typed("operation"),
        resource: typed("resource"),
        outcome: typed("outcome"),
        since: typed("since"),
        until: typed("until"),
        is_filtered: FILTERS.iter().any(|name| visit.params.get(name).is_some()),
        next,
        errors,
    };
    let status = if template.errors.problem.is_some() {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::OK
    };
    Ok(page::show(status, &template))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_lead_to_what_was_changed() {
        for (operation, resource, page) in [
            ("deleteWebhook", Some("wh_1"), Some("/ui/endpoints/wh_1?tenant=ten_1")),
            ("createTenantApiKey", Some("key_1"), Some("/ui/tenants/ten_1?tenant=ten_1")),
            ("updateUser", Some("ana@x"), Some("/ui/users/ana%40x?tenant=ten_1")),
            ("updateSource", Some("../a"), Some("/ui/sources/..%2Fa?tenant=ten_1")),
            ("putSourceKey", Some("acme/k1"), Some("/ui/sources/acme?tenant=ten_1")),
            ("rotateEncryptionKeys", None, None),
            ("addSuppression", Some("a@b"), None),
        ] {
            let act: AuditRow = serde_json::from_value(serde_json::json!({
                "at": "2026-11-15T10:00:00.000Z",
                "actor": {"kind": "user", "name": "ana"},
                "tenant_id": "ten_1",
                "operation": operation,
                "summary": "",
                "resource": resource,
            }))
            .unwrap();
            assert_eq!(act.page().map(|page| page.to_string()).as_deref(), page, "{operation}");
        }
    }
}

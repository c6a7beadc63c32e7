//! `/ui/tenants/{tenant_name}`: one tenant and its API keys.

use askama::Template;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    api_key::{self, ApiKey, KeyDraft, NewKey},
    audit_actor::LastAction,
    list::List,
    pause,
    plan::PlanUsage,
    tenants::{self, Fields, PATH, Pauses, Tenant},
};
use crate::{
    base::Base,
    changes::changed,
    handlers::PageResult,
    page,
    params::{Link, segment},
    problem::{FormErrors, Problem},
    sentence::Sentence,
    shell::Shell,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

#[derive(Deserialize)]
struct DeadStats {
    total: u64,
}

#[derive(Template)]
#[template(path = "tenant.html")]
struct TenantPage {
    t: Texts,
    s: Shell,
    tenant: Tenant,
    pauses: Pauses,
    /// Who paused it.
    paused: Option<Sentence>,
    keys: Vec<ApiKey>,
    dead: u64,
    usage: Option<PlanUsage>,
    new_key: Option<NewKey>,
    draft: KeyDraft,
    errors: FormErrors,
}

impl TenantPage {
    fn act(&self, action: &str) -> Link {
        self.s.act(PATH, &self.tenant.slug, action)
    }

    fn revoke(&self, key: &ApiKey) -> Link {
        self.act(&format!("keys/{}/revoke", segment(&key.id)))
    }

    fn is_paused(&self) -> bool {
        self.pauses.is_paused(&self.tenant)
    }
}

/// The result of a form on the page.
#[derive(Default)]
struct Outcome {
    new_key: Option<NewKey>,
    draft: Option<KeyDraft>,
    errors: FormErrors,
}

/// The rights of a key. A new one has all of them unless they are deselected.
const SCOPES: [&str; 3] = ["publish", "read", "manage"];

pub async fn show(visit: Visit) -> PageResult {
    let new_key = NewKey::once(&visit);
    let page = render(&visit, Outcome { new_key, ..Outcome::default() }).await?;
    Ok(visit.forget_once(page))
}

async fn render(visit: &Visit, outcome: Outcome) -> PageResult {
    let t = visit.t;
    let tenant: Tenant = visit.get(api(visit, "")).await?;
    let keys: List<ApiKey> = visit.get(api(visit, "/api-keys").with("limit", 100)).await?;
    let stats = Link::new("/v1/dlq/stats").with("tenant", &tenant.slug);
    let dead: DeadStats = visit.get_as_operator(stats).await?;
    let pauses = Pauses::read(visit).await;
    let (mut usage, mut paused) = (None, None);
    if let Ok(acting) = visit.acting_for(&tenant.slug).await {
        usage = PlanUsage::read(&acting).await.ok();
        if pauses.is_paused(&tenant) {
            paused = LastAction::on_tenant(&acting, "pauseTenant").await.map(|act| act.paused(&t));
        }
    }
    let template = TenantPage {
        t,
        s: Shell::new(visit, PATH, t.say("tenants.title").with("name", tenant.title())).await,
        pauses,
        paused,
        tenant,
        keys: keys.data,
        dead: dead.total,
        usage,
        new_key: outcome.new_key,
        draft: outcome.draft.unwrap_or_else(|| KeyDraft::new(&SCOPES)),
        errors: outcome.errors,
    };
    Ok(page::show(template.errors.status(), &template))
}

/// Creates a key, which the page of the tenant shows once.
pub async fn create_key(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let draft = KeyDraft::of(&form, &SCOPES);
    match visit.post(api(&visit, "/api-keys"), draft.body()).await {
        Ok(key) => NewKey::show_once(&visit, &here(&visit), &key),
        Err(problem) if problem.is_input() => {
            let (draft, errors) = (Some(draft), problem.into());
            render(&visit, Outcome { draft, errors, ..Outcome::default() }).await
        }
        Err(problem) => Err(problem),
    }
}

pub async fn ask_revoke_key(visit: Visit) -> PageResult {
    let keys: List<ApiKey> = visit.get(api(&visit, "/api-keys").with("limit", 500)).await?;
    let action =
        format!("{PATH}/{}/keys/{}/revoke", visit.segment("tenant_name"), visit.segment("key"));
    let (action, back) = (visit.link(action), here(&visit));
    api_key::ask_revoke(&visit, PATH, &keys.data, action, back).await
}

pub async fn revoke_key(submission: Submission) -> PageResult {
    let visit = submission.visit;
    let link = api(&visit, &format!("/api-keys/{}", visit.segment("key")));
    visit.send::<Value>(Method::DELETE, link, None).await?;
    Ok(visit.done(&here(&visit), visit.t.say("tenants.key_revoked")))
}

pub async fn pause(submission: Submission) -> PageResult {
    let message = submission.visit.t.say("tenants.was_paused");
    act(&submission.visit, "/pause", pause::body(&submission.form), message).await
}

pub async fn resume(submission: Submission) -> PageResult {
    let message = submission.visit.t.say("tenants.was_resumed");
    act(&submission.visit, "/resume", None, message).await
}

async fn act(visit: &Visit, action: &str, body: Option<Value>, message: Sentence) -> PageResult {
    visit.send::<Value>(Method::POST, api(visit, action), body).await?;
    Ok(visit.done(&here(visit), message))
}

#[derive(Deserialize)]
struct PortalLink {
    token: String,
}

/// Opens the portal as the tenant's users see it, by a new link.
pub async fn open_portal(submission: Submission) -> PageResult {
    let visit = submission.visit;
    let body = json!({"tenant": visit.name("tenant_name")});
    let link: PortalLink = visit.post(Link::new("/v1/portal-links"), body).await?;
    Ok(page::see_other(&Base::Portal.address(&format!("/{}", segment(&link.token)))))
}

pub async fn revoke_portal(submission: Submission) -> PageResult {
    let visit = submission.visit;
    visit.send::<Value>(Method::DELETE, api(&visit, "/portal-links"), None).await?;
    Ok(visit.done(&here(&visit), visit.t.say("portal.was_revoked")))
}

pub async fn edit(visit: Visit) -> PageResult {
    let tenant: Tenant = visit.get(api(&visit, "")).await?;
    let fields = visit.take_draft().map_or_else(|| Fields::of(&tenant), Fields::read);
    let action = edit_link(&visit);
    Ok(tenants::show_form(&visit, false, action, fields, FormErrors::default()).await)
}

pub async fn save(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let fields = Fields::read(&form);
    let changes = changed(fields.body(false).to_string(), &fields.before);
    let saved = visit.send_text::<Value>(Method::PATCH, api(&visit, ""), Some(changes)).await;
    match saved {
        Ok(_) => Ok(visit.done(&here(&visit), visit.t.say("tenants.was_saved"))),
        Err(problem) if problem.is_input() => refuse(&visit, fields, problem).await,
        Err(problem) => Err(problem),
    }
}

async fn refuse(visit: &Visit, fields: Fields, problem: Problem) -> PageResult {
    Ok(tenants::show_form(visit, false, edit_link(visit), fields, problem.into()).await)
}

fn edit_link(visit: &Visit) -> Link {
    visit.link(format!("{PATH}/{}/edit", visit.segment("tenant_name")))
}

fn here(visit: &Visit) -> Link {
    visit.link(format!("{PATH}/{}", visit.segment("tenant_name")))
}

fn api(visit: &Visit, below: &str) -> Link {
    Link::new(format!("/v1/tenants/{}{below}", visit.segment("tenant_name")))
}

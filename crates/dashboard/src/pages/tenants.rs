//! `/ui/tenants` and `/ui/tenants/new`: who uses the gateway?

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    endpoint_facts::RateLimit,
    list::List,
    scan::{self, scan},
};
use crate::{
    base::Base,
    display_time::DisplayTime,
    escape::Text,
    handlers::PageResult,
    page,
    params::{Link, Params, segment},
    problem::FormErrors,
    sentence::Sentence,
    shell::Shell,
    status_mark::StatusMark,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

pub const PATH: &str = "/tenants";

#[derive(Deserialize)]
pub struct Tenant {
    pub id: String,
    pub slug: String,
    pub name: String,
    pub plan: Text,
    pub default_profile: Text,
    pub strict_event_types: bool,
    pub publish_rate: Option<RateLimit>,
    pub retention: Retention,
    pub created_at: DisplayTime,
}

/// How long a tenant's data is stored; `None` if the gateway's setting applies.
#[derive(Deserialize)]
pub struct Retention {
    pub events: Option<Text>,
    pub emails: Option<Text>,
    pub dead_letters: Option<Text>,
}

impl Tenant {
    pub fn title(&self) -> Text {
        self.name.as_str().into()
    }

    fn matches(&self, query: &str) -> bool {
        scan::matches(query, [&*self.name, &*self.slug, &*self.id])
    }
}

#[derive(Deserialize, Default)]
pub struct Pauses {
    paused_tenants: Vec<String>,
}

impl Pauses {
    pub async fn read(visit: &Visit) -> Self {
        visit.get_as_operator(Link::new("/v1/queues")).await.unwrap_or_default()
    }

    pub fn mark(&self, tenant: &Tenant) -> StatusMark {
        if self.is_paused(tenant) { StatusMark::Paused } else { StatusMark::Delivered }
    }

    pub fn is_paused(&self, tenant: &Tenant) -> bool {
        self.paused_tenants.contains(&tenant.id)
    }

    pub fn state(&self, tenant: &Tenant, t: &Texts) -> Sentence {
        if self.is_paused(tenant) { t.say("status.paused") } else { t.say("tenants.active") }
    }
}

#[derive(Template)]
#[template(path = "tenants.html")]
struct TenantsPage {
    t: Texts,
    s: Shell,
    rows: Vec<Tenant>,
    pauses: Pauses,
    next: Option<Link>,
    query: String,
    /// The page that a chosen tenant limits.
    for_page: Option<String>,
    /// Whether the search did not reach the end.
    is_cut: bool,
}

impl TenantsPage {
    /// Returns the page of a tenant, or the one that it is chosen for.
    fn href(&self, tenant: &Tenant) -> Link {
        let page = match &self.for_page {
            Some(page) => Link::new(page),
            None => self.s.of(PATH, &tenant.slug),
        };
        page.with("tenant", &tenant.slug)
    }
}

#[derive(Template)]
#[template(path = "tenant_form.html")]
struct TenantFormPage {
    t: Texts,
    s: Shell,
    is_new: bool,
    action: Link,
    fields: Fields,
    errors: FormErrors,
}

/// The fields, typed or current.
#[derive(Default)]
pub struct Fields {
    slug: String,
    name: String,
    plan: String,
    profile: String,
    is_strict: bool,
    /// The body of the tenant when the form was opened.
    pub before: String,
}

/// The plan if none is chosen.
const DEFAULT_PLAN: &str = gancho_domain::Tenant::UNLIMITED;
const DEFAULT_PROFILE: &str = "standard";

impl TenantFormPage {
    fn plans(&self) -> Vec<Text> {
        let known = self.s.visit.dashboard.plans.iter().map(String::as_str);
        choices(known, &self.fields.plan)
    }

    fn profiles(&self) -> Vec<Text> {
        let known = self.s.visit.dashboard.profiles.iter().map(|profile| profile.name.as_str());
        choices(known, &self.fields.profile)
    }
}

/// Returns the known choices, and the tenant's own even if it is unknown.
fn choices<'a>(known: impl Iterator<Item = &'a str>, present: &str) -> Vec<Text> {
    let mut choices: Vec<Text> = known.map(Text::from).collect();
    if !present.is_empty() && !choices.iter().any(|one| one.as_str() == present) {
        choices.insert(0, present.into());
    }
    choices
}

impl Fields {
    fn has_plan(&self, name: &Text) -> bool {
        name.as_str() == if self.plan.is_empty() { DEFAULT_PLAN } else { &self.plan }
    }

    fn has_profile(&self, name: &Text) -> bool {
        name.as_str() == if self.profile.is_empty() { DEFAULT_PROFILE } else { &self.profile }
    }

    pub fn read(form: &Params) -> Self {
        Self {
            slug: form.text("slug").to_owned(),
            name: form.text("name").to_owned(),
            plan: form.text("plan").to_owned(),
            profile: form.text("profile").to_owned(),
            is_strict: form.has("strict"),
            before: form.text("before").to_owned(),
        }
    }

    pub fn of(tenant: &Tenant) -> Self {
        let mut fields = Self {
            slug: tenant.slug.clone(),
            name: tenant.name.clone(),
            plan: tenant.plan.to_string(),
            profile: tenant.default_profile.to_string(),
            is_strict: tenant.strict_event_types,
            before: String::new(),
        };
        fields.before = fields.body(false).to_string();
        fields
    }

    /// Returns the body for the API. Empty fields are left out.
    pub fn body(&self, is_new: bool) -> Value {
        let mut body = Map::new();
        let fields =
            [("name", &self.name), ("plan", &self.plan), ("default_profile", &self.profile)];
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            body.insert(name.to_owned(), json!(value));
        }
        if is_new {
            body.insert("slug".to_owned(), json!(self.slug));
        }
        body.insert("strict_event_types".to_owned(), json!(self.is_strict));
        Value::Object(body)
    }
}

pub async fn list(visit: Visit) -> PageResult {
    let query = visit.params.text("q").to_owned();
    let cursor = visit.params.get("cursor");
    let for_page = visit.params.get("for").filter(|page| Base::Dashboard.has(page));
    let (rows, next_cursor, is_cut) = if query.is_empty() {
        let link = Link::new("/v1/tenants").with("limit", 100).maybe("cursor", cursor);
        let List { data, next_cursor } = visit.get(link).await?;
        (data, next_cursor, false)
    } else {
        let (mut all, has_more) = scan::<Tenant>(&visit, "/v1/tenants").await?;
        all.retain(|tenant| tenant.matches(&query));
        (all, None, has_more)
    };
    let here = visit.link(PATH).maybe("for", for_page);
    let template = TenantsPage {
        t: visit.t,
        s: Shell::new(&visit, PATH, visit.t.say("nav.tenants")).await,
        rows,
        pauses: Pauses::read(&visit).await,
        next: next_cursor.map(|cursor| here.with("cursor", cursor)),
        query,
        for_page: for_page.map(ToOwned::to_owned),
        is_cut,
    };
    Ok(page::show(StatusCode::OK, &template))
}

pub async fn new(visit: Visit) -> PageResult {
    let action = visit.link(format!("{PATH}/new"));
    let fields = visit.take_draft().map(Fields::read).unwrap_or_default();
    Ok(show_form(&visit, true, action, fields, FormErrors::default()).await)
}

pub async fn create(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let fields = Fields::read(&form);
    match visit.post::<Tenant>(Link::new("/v1/tenants"), fields.body(true)).await {
        Ok(tenant) => {
            let page = visit.page(format!("{PATH}/{}", segment(&tenant.slug)));
            let message = visit.t.say("tenants.was_created").with("name", tenant.title());
            Ok(visit.done(&page.with("tenant", &tenant.slug), message))
        }
        Err(problem) if problem.is_input() => {
            let action = visit.link(format!("{PATH}/new"));
            Ok(show_form(&visit, true, action, fields, problem.into()).await)
        }
        Err(problem) => Err(problem),
    }
}

pub async fn show_form(
    visit: &Visit,
    is_new: bool,
    action: Link,
    fields: Fields,
    errors: FormErrors,
) -> Response {
    let t = visit.t;
    let title = if is_new { t.say("tenants.new") } else { t.say("tenants.edit") };
    let s = Shell::new(visit, PATH, title).await;
    let status = errors.status();
    page::show(status, &TenantFormPage { t, s, is_new, action, fields, errors })
}

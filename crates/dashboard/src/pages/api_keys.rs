//! `/portal/keys`: the API keys of the tenant.

use askama::Template;
use http::Method;
use serde_json::Value;

use super::{
    api_key::{self, ApiKey, KeyDraft, NewKey},
    list::List,
};
use crate::{
    handlers::PageResult,
    page,
    params::{Link, segment},
    problem::FormErrors,
    shell::Shell,
    submission::Submission,
    texts::Texts,
    visit::Visit,
};

pub const PATH: &str = "/keys";
const API: &str = "/v1/api-keys";
/// The rights of a key that is created here. The API refuses more.
const SCOPES: [&str; 2] = ["read", "manage"];

impl ApiKey {
    /// Whether users of the tenant could have created it, and may revoke it.
    fn is_own(&self) -> bool {
        self.scopes.iter().all(|scope| SCOPES.contains(&scope.as_str()))
    }
}

#[derive(Template)]
#[template(path = "api_keys.html")]
struct ApiKeysPage {
    t: Texts,
    s: Shell,
    keys: Vec<ApiKey>,
    next: Option<Link>,
    new_key: Option<NewKey>,
    draft: KeyDraft,
    errors: FormErrors,
}

impl ApiKeysPage {
    fn revoke(&self, key: &ApiKey) -> Link {
        self.s.act(PATH, &key.id, "revoke")
    }
}

pub async fn show(visit: Visit) -> PageResult {
    let draft = KeyDraft::new(&["read"]);
    let page = render(&visit, NewKey::once(&visit), draft, FormErrors::default()).await?;
    Ok(visit.forget_once(page))
}

async fn render(
    visit: &Visit,
    new_key: Option<NewKey>,
    draft: KeyDraft,
    errors: FormErrors,
) -> PageResult {
    let t = visit.t;
    let link = Link::new(API).with("limit", 100).maybe("cursor", visit.params.get("cursor"));
    let List { data: keys, next_cursor } = visit.get(link).await?;
    let template = ApiKeysPage {
        t,
        s: Shell::new(visit, PATH, t.say("tenants.keys")).await,
        keys,
        next: next_cursor.map(|cursor| visit.link(PATH).with("cursor", cursor)),
        new_key,
        draft,
        errors,
    };
    Ok(page::show(template.errors.status(), &template))
}

/// Creates a key, which this page shows once.
pub async fn create(submission: Submission) -> PageResult {
    let Submission { visit, form } = submission;
    let draft = KeyDraft::of(&form, &SCOPES);
    match visit.post(Link::new(API), draft.body()).await {
        Ok(key) => NewKey::show_once(&visit, &visit.link(PATH), &key),
        Err(problem) if problem.is_input() => render(&visit, None, draft, problem.into()).await,
        Err(problem) => Err(problem),
    }
}

pub async fn ask_revoke(visit: Visit) -> PageResult {
    let List { data, .. }: List<ApiKey> = visit.get(Link::new(API).with("limit", 500)).await?;
    let action = visit.link(format!("{PATH}/{}/revoke", visit.segment("key")));
    let back = visit.link(PATH);
    api_key::ask_revoke(&visit, PATH, &data, action, back).await
}

pub async fn revoke(submission: Submission) -> PageResult {
    let visit = submission.visit;
    let link = Link::new(format!("{API}/{}", segment(visit.name("key"))));
    visit.send::<Value>(Method::DELETE, link, None).await?;
    Ok(visit.done(&visit.link(PATH), visit.t.say("tenants.key_revoked")))
}

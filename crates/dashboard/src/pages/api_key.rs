//! An API key in a list, for the operator and for its tenant's users.

use serde::Deserialize;
use serde_json::{Value, json};

use super::confirm::{self, Question};
use crate::{
    display_time::DisplayTime,
    escape::Text,
    handlers::PageResult,
    params::{Link, Params},
    problem::Problem,
    visit::Visit,
};

#[derive(Deserialize)]
pub struct ApiKey {
    pub id: String,
    pub name: Text,
    pub scopes: Vec<Text>,
    pub expires_at: Option<DisplayTime>,
    pub revoked_at: Option<DisplayTime>,
    pub last_used_at: Option<DisplayTime>,
}

impl ApiKey {
    pub fn title(&self) -> Text {
        if self.name.is_empty() { self.id.as_str().into() } else { self.name.clone() }
    }
}

/// Asks whether to revoke the key in the path.
pub async fn ask_revoke(
    visit: &Visit,
    nav: &'static str,
    keys: &[ApiKey],
    action: Link,
    back: Link,
) -> PageResult {
    let t = visit.t;
    let key = keys.iter().find(|key| key.id == visit.name("key")).ok_or_else(Problem::no_page)?;
    let text = match &key.last_used_at {
        Some(used) => t.say("tenants.revoke_used").html("ago", t.ago(used)),
        None => t.say("tenants.revoke_unused"),
    };
    let question = Question {
        title: t.say("tenants.revoke_title").with("name", key.title()),
        text,
        action,
        fields: Vec::new(),
        submit: t.say("tenants.revoke"),
        back,
    };
    Ok(confirm::ask(visit, nav, question).await)
}

/// A key that was just created, with what is shown once.
#[derive(Deserialize)]
pub struct NewKey {
    pub key: Text,
}

impl NewKey {
    /// Redirects to the page that shows the key of this response once.
    pub fn show_once(visit: &Visit, page: &Link, created: &Value) -> PageResult {
        visit.show_once(page, &json!({"key": created["key"]}))
    }

    /// Returns the key that the previous form created.
    pub fn once(visit: &Visit) -> Option<Self> {
        serde_json::from_value(visit.once()?).ok()
    }
}

/// The form of a new key, with what was typed.
pub struct KeyDraft {
    pub name: String,
    scopes: Vec<&'static str>,
}

impl KeyDraft {
    /// Returns an empty form.
    pub fn new(scopes: &[&'static str]) -> Self {
        Self { name: String::new(), scopes: scopes.to_vec() }
    }

    /// Reads a form. `scopes` are those that it offers.
    pub fn of(form: &Params, scopes: &[&'static str]) -> Self {
        let chosen = scopes.iter().copied().filter(|scope| form.has(scope));
        Self { name: form.text("name").to_owned(), scopes: chosen.collect() }
    }

    pub fn has(&self, scope: &str) -> bool {
        self.scopes.contains(&scope)
    }

    pub fn body(&self) -> Value {
        json!({"name": self.name, "scopes": self.scopes})
    }
}

//! An API key in a list, for the operator and for the people of its tenant.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    dashboard::PageResult,
    escape::Text,
    moment::Moment,
    params::{Link, Params},
    visit::Visit,
};

#[derive(Deserialize)]
pub struct ApiKey {
    pub id: String,
    pub name: Text,
    pub scopes: Vec<Text>,
    pub expires_at: Option<Moment>,
    pub revoked_at: Option<Moment>,
    pub last_used_at: Option<Moment>,
}

/// One that was just created, with what is shown once.
#[derive(Deserialize)]
pub struct NewKey {
    pub key: Text,
}

impl NewKey {
    /// Leads to the page that shows the key of this answer once.
    pub fn show_once(visit: &Visit, page: &Link, created: &Value) -> PageResult {
        visit.show_once(page, &json!({"key": created["key"]}))
    }

    /// The key that the form before made.
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
    /// Before anything was typed.
    pub fn new(scopes: &[&'static str]) -> Self {
        Self { name: String::new(), scopes: scopes.to_vec() }
    }

    /// `scopes` are those that the form offers.
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

//! Computes the difference between a file and the gateway.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::{
    current::{CurrentResource, CurrentState},
    declaration::{Declaration, DeclaredResource, name},
    fields::{ResourceType, is_same},
};
use crate::{
    commands::{
        Failure,
        table::{clean, count},
    },
    paint::{DIM, GREEN, RED, YELLOW},
};

pub struct Plan {
    /// In the order in which they are made.
    pub changes: Vec<Change>,
    unchanged: usize,
}

pub enum Action {
    Create,
    /// The old values of the fields that change.
    Update(Map<String, Value>),
    Delete,
}

pub struct Change {
    pub action: Action,
    pub kind: ResourceType,
    pub tenant: Option<String>,
    pub identity: String,
    /// The id in paths of the API; for a new one, its identity.
    pub key: String,
    /// The fields to set.
    pub fields: Map<String, Value>,
    /// For what is replaced as a whole: all fields.
    pub whole: Map<String, Value>,
    pub secret_env: Option<String>,
}

impl Plan {
    pub fn new(
        declared: &Declaration,
        current: &CurrentState,
        prune: bool,
    ) -> anyhow::Result<Self> {
        let mut plan = Self { changes: Vec::new(), unchanged: 0 };
        for resource in &declared.resources {
            let found = find(current, resource)?;
            match found {
                Some(found) => plan.compare(resource, found),
                None => plan.changes.push(create(resource)),
            }
        }
        if prune {
            plan.changes
                .extend(current.resources.iter().filter(|one| is_extra(one, declared)).map(delete));
        }
        Ok(plan)
    }

    fn compare(&mut self, resource: &DeclaredResource, found: &CurrentResource) {
        let differing: Vec<(&String, &Value)> = resource
            .fields
            .iter()
            .filter(|(field, value)| !is_same(value, &found.value[field.as_str()]))
            .collect();
        if differing.is_empty() {
            self.unchanged += 1;
            return;
        }
        let fields: Map<String, Value> =
            differing.iter().map(|(name, value)| ((*name).clone(), (*value).clone())).collect();
        let old =
            fields.keys().map(|name| (name.clone(), found.value[name.as_str()].clone())).collect();
        let mut whole: Map<String, Value> = resource
            .kind
            .fields()
            .iter()
            .map(|field| ((*field).to_owned(), found.value[*field].clone()))
            .collect();
        whole.extend(fields.clone());
        self.changes.push(Change {
            action: Action::Update(old),
            kind: resource.kind,
            tenant: resource.tenant.clone(),
            identity: resource.identity.clone(),
            key: found.key.clone(),
            fields,
            whole,
            secret_env: None,
        });
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub fn text(&self) -> String {
        let mut text: String = self.changes.iter().map(Change::text).collect();
        let number = |is: fn(&Action) -> bool| {
            count(self.changes.iter().filter(|one| is(&one.action)).count() as u64)
        };
        let _ = writeln!(
            text,
            "{} to create, {} to change, {} to delete; {} unchanged",
            number(|action| matches!(action, Action::Create)),
            number(|action| matches!(action, Action::Update(_))),
            number(|action| matches!(action, Action::Delete)),
            count(self.unchanged as u64)
        );
        text
    }

    pub fn json(&self) -> Value {
        let changes: Vec<Value> = self.changes.iter().map(Change::json).collect();
        json!({ "changes": changes, "unchanged": self.unchanged })
    }
}

fn find<'a>(
    current: &'a CurrentState,
    resource: &DeclaredResource,
) -> anyhow::Result<Option<&'a CurrentResource>> {
    let mut found = current.resources.iter().filter(|one| {
        one.kind == resource.kind
            && one.tenant == resource.tenant
            && one.is_called(&resource.identity)
    });
    let first = found.next();
    if found.next().is_some() {
        return Err(Failure::usage(format!(
            "there are several endpoints called `{}`. hint: give each another name with `gancho endpoints update ID --name NAME`",
            resource.identity
        )));
    }
    Ok(first)
}

fn create(resource: &DeclaredResource) -> Change {
    Change {
        action: Action::Create,
        kind: resource.kind,
        tenant: resource.tenant.clone(),
        identity: resource.identity.clone(),
        key: resource.identity.clone(),
        fields: resource.fields.clone(),
        whole: Map::new(),
        secret_env: resource.secret_env.clone(),
    }
}

fn delete(one: &CurrentResource) -> Change {
    Change {
        action: Action::Delete,
        kind: one.kind,
        tenant: one.tenant.clone(),
        identity: if one.identity.is_empty() { one.key.clone() } else { one.identity.clone() },
        key: one.key.clone(),
        fields: Map::new(),
        whole: Map::new(),
        secret_env: None,
    }
}

/// Whether a resource exists and is not in the file. Tenants are never deleted.
fn is_extra(one: &CurrentResource, declared: &Declaration) -> bool {
    one.kind != ResourceType::Tenant
        && !declared.resources.iter().any(|resource| {
            resource.kind == one.kind
                && resource.tenant == one.tenant
                && one.is_called(&resource.identity)
        })
}

impl Change {
    pub fn name(&self) -> String {
        name(self.kind, self.tenant.as_deref(), &self.identity)
    }

    fn text(&self) -> String {
        let name = clean(&self.name());
        match &self.action {
            Action::Create => {
                let mut text = format!("{GREEN}+{GREEN:#} {name}\n");
                for (field, value) in &self.fields {
                    let _ = writeln!(text, "    {DIM}{field}:{DIM:#} {}", short(value));
                }
                text
            }
            Action::Update(old) => {
                let mut text = format!("{YELLOW}~{YELLOW:#} {name}\n");
                for (field, value) in &self.fields {
                    let before = old.get(field).map(short).unwrap_or_default();
                    let _ = writeln!(text, "    {DIM}{field}:{DIM:#} {before} → {}", short(value));
                }
                text
            }
            Action::Delete => format!("{RED}-{RED:#} {name}\n"),
        }
    }

    pub fn json(&self) -> Value {
        let (action, old) = match &self.action {
            Action::Create => ("create", Value::Null),
            Action::Update(old) => ("update", Value::Object(old.clone())),
            Action::Delete => ("delete", Value::Null),
        };
        json!({
            "action": action,
            "kind": self.kind.noun().replace(' ', "_"),
            "tenant": self.tenant,
            "name": self.identity,
            "fields": self.fields,
            "before": old,
        })
    }
}

/// Formats a value on one line.
fn short(value: &Value) -> String {
    const MAX: usize = 60;
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        other => other.to_string(),
    };
    let text = clean(&text);
    if text.chars().count() <= MAX {
        text
    } else {
        text.chars().take(MAX - 1).chain(['…']).collect()
    }
}

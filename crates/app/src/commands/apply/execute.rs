//! Makes the changes of a plan, in order. Stops at the first error and reports what was done.

use serde_json::{Map, Value, json};

use super::{
    fields::ResourceType,
    plan::{Action, Change, Plan},
};
use crate::{
    commands::{Failure, table},
    remote::{Remote, part},
};

pub async fn run(remote: &Remote, plan: &Plan, as_json: bool) -> anyhow::Result<()> {
    let mut done = Vec::new();
    for change in &plan.changes {
        match make(remote, change).await {
            Ok(answer) => {
                if !as_json {
                    print_result(change, &answer)?;
                }
                done.push(result(change, &answer));
            }
            Err(error) if done.is_empty() => return Err(error.context(change.name())),
            Err(error) => {
                if as_json {
                    table::json(&json!({ "applied": done }))?;
                }
                let text = format!(
                    "{}: {error:#}; {} of {} were applied. hint: correct the file and apply it again; what is done stays done",
                    change.name(),
                    done.len(),
                    table::many(plan.changes.len(), "change")
                );
                return Err(Failure::partly(text));
            }
        }
    }
    if as_json {
        return table::json(&json!({ "applied": done }));
    }
    table::say(&format!("Applied {}.", table::many(done.len(), "change")))
}

async fn make(remote: &Remote, change: &Change) -> anyhow::Result<Value> {
    let remote = match &change.tenant {
        Some(tenant) => remote.clone().acting_for(tenant)?,
        None => remote.clone(),
    };
    let list = match change.kind {
        ResourceType::Tenant => "/v1/tenants",
        ResourceType::EventType => "/v1/webhooks/events",
        ResourceType::Endpoint => "/v1/webhooks",
        ResourceType::Source => "/v1/sources",
    };
    let one = format!("{list}/{}", part(&change.key));
    Ok(match (&change.action, change.kind) {
        (Action::Create, _) => remote.post(list, &new(change)?).await?,
        (Action::Update(_), ResourceType::EventType) => remote.put(&one, &change.whole).await?,
        (Action::Update(_), _) => remote.patch(&one, &change.fields).await?,
        (Action::Delete, _) => remote.delete(&one).await?,
    })
}

/// Returns the body that creates the resource.
fn new(change: &Change) -> anyhow::Result<Value> {
    let mut body: Map<String, Value> = change.fields.clone();
    body.insert(change.kind.identity().to_owned(), json!(change.identity));
    if change.kind == ResourceType::Endpoint && !body.contains_key("events") {
        body.insert("events".to_owned(), json!(["*"]));
    }
    if let Some(name) = &change.secret_env {
        #[expect(clippy::disallowed_methods, reason = "the variable is named in the file")]
        let secret = std::env::var(name)
            .map_err(|_| Failure::usage(format!("the variable {name} (secret_env) is not set")))?;
        body.insert("secret".to_owned(), json!(secret));
    }
    Ok(Value::Object(body))
}

/// Prints the result. A secret that the gateway generated is printed, because nobody else knows it.
fn print_result(change: &Change, answer: &Value) -> anyhow::Result<()> {
    let done = match change.action {
        Action::Create => "created",
        Action::Update(_) => "changed",
        Action::Delete => "deleted",
    };
    table::say(&format!("{done} {}", table::clean(&change.name())))?;
    match secret(change, answer) {
        Some(secret) => table::say(&format!("    secret: {secret}")),
        None => Ok(()),
    }
}

fn secret<'a>(change: &Change, answer: &'a Value) -> Option<&'a str> {
    if !matches!(change.action, Action::Create) || change.secret_env.is_some() {
        return None;
    }
    match change.kind {
        ResourceType::Endpoint => answer["secret"].as_str(),
        ResourceType::Source => answer["dispatch_secret"].as_str(),
        ResourceType::Tenant | ResourceType::EventType => None,
    }
}

fn result(change: &Change, answer: &Value) -> Value {
    let mut result = change.json();
    result["id"] = answer["id"].clone();
    result["secret"] = json!(secret(change, answer));
    result
}

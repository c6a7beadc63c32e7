//! `gancho trigger`: publishes the example of an event type.

use clap::Args;
use serde_json::Value;

use super::{client::TenantArgs, event_types, input, publish, table::text};

/// Publish the example of an event type of the catalog, as if it had happened.
#[derive(Debug, Args)]
pub struct Trigger {
    /// Event type, e.g. invoice.paid. `gancho event-types list` lists them.
    event_type: String,
    /// What the event is about, e.g. an order id.
    #[arg(long)]
    subject: Option<String>,
    /// Change a value of the example: a path such as customer.email, and JSON or text. Can be repeated.
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    acting: TenantArgs,
}

impl Trigger {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let known = remote.get(&event_types::path(&self.event_type)).await?;
        let mut data = known["example"].clone();
        for change in &self.set {
            let (path, value) = input::pair(change, "--set customer.name=Ana")?;
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
            *place(&mut data, path) = value;
        }
        let mut draft = input::Draft::default();
        draft.put("type", text(&known["name"]))?;
        draft.put("data", data)?;
        draft.maybe("subject", self.subject.as_ref())?;
        publish::report(&publish::send(&remote, &draft).await?, self.acting.client.json)
    }
}

/// Returns the value at a path, and creates it if it does not exist.
fn place<'a>(data: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.').fold(data, |at, name| {
        let index = name.parse::<usize>().ok();
        let index = index.filter(|index| at.as_array().is_some_and(|items| *index < items.len()));
        if let Some(index) = index {
            return &mut at[index];
        }
        if !at.is_object() {
            *at = Value::Object(serde_json::Map::new());
        }
        &mut at[name]
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_set_by_path() {
        let mut data = json!({ "a": { "b": 1 }, "list": [1, 2] });
        *place(&mut data, "a.b") = json!(2);
        *place(&mut data, "list.1") = json!(3);
        *place(&mut data, "c.d") = json!("e");
        assert_eq!(data, json!({ "a": { "b": 2 }, "list": [1, 3], "c": { "d": "e" } }));
    }
}

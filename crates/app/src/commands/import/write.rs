//! Creates at the gateway what it does not have yet.

use data_encoding::BASE64;
use hyper::StatusCode;
use serde_json::{Value, json};

use super::record::{Application, Endpoint, EventType, Record};
use crate::{
    commands::{Failure, table},
    remote::{Remote, RemoteError, part},
};

pub struct Writer<'a> {
    gateway: Remote,
    profile: &'a str,
    is_dry_run: bool,
}

/// The outcome of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Created,
    Exists,
    /// At another URL than the one that is imported.
    Differs,
}

impl<'a> Writer<'a> {
    pub fn new(gateway: Remote, profile: &'a str, is_dry_run: bool) -> Self {
        Self { gateway, profile, is_dry_run }
    }

    pub async fn run(&self, records: &[Record], as_json: bool) -> anyhow::Result<()> {
        let (mut created, mut existing, mut failed) = (0, 0, 0);
        let mut lines = Vec::new();
        let mut tell = |state: &'static str, what: String| {
            if as_json {
                lines.push(json!({"state": state, "what": what}));
                return Ok(());
            }
            table::say(&format!("{state:<13} {what}"))
        };
        for record in records {
            let (what, outcome) = match record {
                Record::Warning { text } => {
                    tell("warning", text.clone())?;
                    continue;
                }
                Record::Application(one) => {
                    (format!("application {}", one.uid), self.application(one).await)
                }
                Record::EventType(one) => {
                    (format!("event type {}", one.name), self.event_type(one).await)
                }
                Record::Endpoint(one) => {
                    let what = format!("endpoint {}/{} at {}", one.application, one.uid, one.url);
                    (what, self.endpoint(one).await)
                }
            };
            match outcome {
                Ok(Outcome::Created) => {
                    created += 1;
                    tell(if self.is_dry_run { "would create" } else { "created" }, what)?;
                }
                Ok(Outcome::Exists) => {
                    existing += 1;
                    tell("exists", what)?;
                }
                Ok(Outcome::Differs) => {
                    existing += 1;
                    tell("exists", format!("{what}, but with another URL; left as it is"))?;
                }
                // Without a gateway and a key, nothing else works either.
                Err(error) if error.downcast_ref().is_some_and(is_final) => return Err(error),
                Err(error) => {
                    failed += 1;
                    tell("failed", format!("{what}: {error:#}"))?;
                }
            }
        }
        if as_json {
            table::json(
                &json!({"created": created, "existing": existing, "failed": failed, "records": lines}),
            )?;
        } else {
            let done = if self.is_dry_run { "would be created" } else { "created" };
            table::say(&format!("{created} {done}, {existing} existing, {failed} failed."))?;
        }
        if failed > 0 {
            return Err(Failure::failed(
                "some could not be imported. hint: correct them, and repeat the import",
            ));
        }
        Ok(())
    }

    /// Returns an existing object; `None` if it does not exist.
    async fn find(&self, path: &str) -> anyhow::Result<Option<Value>> {
        match self.gateway.get(path).await {
            Ok(found) => Ok(Some(found)),
            Err(RemoteError::Refused(error)) if error.status == StatusCode::NOT_FOUND => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn application(&self, one: &Application) -> anyhow::Result<Outcome> {
        if self.find(&format!("/api/v1/app/{}", part(&one.uid))).await?.is_some() {
            return Ok(Outcome::Exists);
        }
        if !self.is_dry_run {
            let body = json!({"name": one.name, "uid": one.uid, "metadata": one.metadata});
            self.gateway.post("/api/v1/app", &body).await?;
        }
        Ok(Outcome::Created)
    }

    async fn event_type(&self, one: &EventType) -> anyhow::Result<Outcome> {
        let path = format!("/api/v1/event-type/{}", part(&one.name));
        if self.find(&path).await?.is_some() {
            return Ok(Outcome::Exists);
        }
        if !self.is_dry_run {
            self.gateway.put(&path, &one.settings).await?;
        }
        Ok(Outcome::Created)
    }

    async fn endpoint(&self, one: &Endpoint) -> anyhow::Result<Outcome> {
        let path = format!("/api/v1/app/{}", part(&one.application));
        let Some(application) = self.find(&path).await? else {
            anyhow::ensure!(self.is_dry_run, "its application does not exist");
            return Ok(Outcome::Created);
        };
        if let Some(found) = self.find(&format!("{path}/endpoint/{}", part(&one.uid))).await? {
            let is_same = found["url"] == one.url.as_str();
            return Ok(if is_same { Outcome::Exists } else { Outcome::Differs });
        }
        let webhook = self.webhook(one)?;
        if !self.is_dry_run {
            let tenant = application["id"].as_str().unwrap_or_default();
            let gateway = self.gateway.clone().acting_for(tenant)?;
            gateway.post("/v1/webhooks", &webhook).await?;
        }
        Ok(Outcome::Created)
    }

    fn webhook(&self, one: &Endpoint) -> anyhow::Result<Value> {
        let mut body = json!({
            "url": one.url,
            "name": one.description,
            "events": if one.events.is_empty() { vec!["*".to_owned()] } else { one.events.clone() },
            "is_active": !one.disabled,
            "headers": one.headers,
            "profile": self.profile,
            "metadata": one.metadata,
            "external_id": one.uid,
        });
        if let Some(secret) = &one.secret {
            body["secret"] = json!(self.secret(secret)?);
        }
        if let Some(rate) = one.rate {
            let per = format!("{}s", one.rate_seconds.unwrap_or(1));
            body["rate_limit"] = json!({"count": rate, "per": per});
        }
        Ok(body)
    }

    /// Converts a secret: Svix writes base64 with and without a prefix, but for the gateway a text without
    /// one is plain.
    fn secret(&self, given: &str) -> anyhow::Result<String> {
        if self.profile != "svix" || given.starts_with("whsec_") || given.starts_with("whsk_") {
            return Ok(given.to_owned());
        }
        let is_base64 = BASE64.decode(given.as_bytes()).is_ok();
        anyhow::ensure!(is_base64, "its secret is not one of Svix: `whsec_` and base64");
        Ok(format!("whsec_{given}"))
    }
}

fn is_final(error: &RemoteError) -> bool {
    error.is_unreachable() || error.is_unauthorized()
}

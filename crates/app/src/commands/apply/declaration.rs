//! Reads the declaration in a file.

use std::path::Path;

use anyhow::Context;
use serde_json::{Map, Value};

use super::fields::{self, ResourceType};
use crate::commands::{Failure, input};

/// All resources of a file, tenants first.
pub struct Declaration {
    pub resources: Vec<DeclaredResource>,
    /// Whether the file has these lists at all: without one, nothing of it is pruned.
    pub has_event_types: bool,
    pub has_sources: bool,
}

/// One resource that is declared.
pub struct DeclaredResource {
    pub kind: ResourceType,
    /// The tenant that it belongs to.
    pub tenant: Option<String>,
    pub identity: String,
    /// The fields that the file gives, as the API takes them.
    pub fields: Map<String, Value>,
    /// The variable with the secret of a new endpoint.
    pub secret_env: Option<String>,
}

impl Declaration {
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = input::text(path)?;
        let invalid = |error: &dyn std::fmt::Display| {
            Failure::usage(format!("{} is not valid: {error}", path.display()))
        };
        let value: Value = match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => serde_json::from_str(&text).map_err(|error| invalid(&error))?,
            Some("toml") => toml::from_str(&text).map_err(|error| invalid(&error))?,
            _ => serde_saphyr::from_str(&text).map_err(|error| invalid(&error))?,
        };
        Self::of(&value)
    }

    pub fn of(value: &Value) -> anyhow::Result<Self> {
        let root = value
            .as_object()
            .context("the file must have `tenants`, `event_types` or `sources`")?;
        for name in root.keys() {
            if !["tenants", "event_types", "sources"].contains(&name.as_str()) {
                return Err(Failure::usage(format!(
                    "unknown field `{name}`. hint: use tenants, event_types and sources"
                )));
            }
        }
        let mut resources = Vec::new();
        for (place, tenant) in list(value, "tenants", "")? {
            let tenant = DeclaredResource::of(ResourceType::Tenant, tenant, None, &place)?;
            resources.push(tenant);
        }
        for (place, event_type) in list(value, "event_types", "")? {
            resources.push(DeclaredResource::of(
                ResourceType::EventType,
                event_type,
                None,
                &place,
            )?);
        }
        for (place, tenant) in list(value, "tenants", "")? {
            let slug = tenant["slug"].as_str();
            for (place, event_type) in list(tenant, "event_types", &place)? {
                resources.push(DeclaredResource::of(
                    ResourceType::EventType,
                    event_type,
                    slug,
                    &place,
                )?);
            }
            for (place, endpoint) in list(tenant, "endpoints", &place)? {
                resources.push(DeclaredResource::of(
                    ResourceType::Endpoint,
                    endpoint,
                    slug,
                    &place,
                )?);
            }
        }
        for (place, source) in list(value, "sources", "")? {
            resources.push(DeclaredResource::of(ResourceType::Source, source, None, &place)?);
        }
        no_doubles(&resources)?;
        let has = |name: &str| root.contains_key(name);
        Ok(Self { resources, has_event_types: has("event_types"), has_sources: has("sources") })
    }

    pub fn tenants(&self) -> impl Iterator<Item = &str> {
        self.resources
            .iter()
            .filter(|resource| resource.kind == ResourceType::Tenant)
            .map(|resource| resource.identity.as_str())
    }
}

/// Returns the items of a list, each with its position in the file.
fn list<'a>(value: &'a Value, name: &str, above: &str) -> anyhow::Result<Vec<(String, &'a Value)>> {
    let place = if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
    match &value[name] {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => Ok(items
            .iter()
            .enumerate()
            .map(|(index, item)| (format!("{place}[{index}]"), item))
            .collect()),
        _ => Err(Failure::usage(format!("{place} must be a list"))),
    }
}

fn no_doubles(resources: &[DeclaredResource]) -> anyhow::Result<()> {
    for (place, resource) in resources.iter().enumerate() {
        if resources[..place].iter().any(|other| other.is_same_resource(resource)) {
            return Err(Failure::usage(format!("{} is declared twice", resource.name())));
        }
    }
    Ok(())
}

impl DeclaredResource {
    fn of(
        kind: ResourceType,
        value: &Value,
        tenant: Option<&str>,
        place: &str,
    ) -> anyhow::Result<Self> {
        let Some(object) = value.as_object() else {
            return Err(Failure::usage(format!("{place} must have fields")));
        };
        fields::check(kind, object, place)?;
        let identity = kind.identity();
        let Some(name) =
            object.get(identity).and_then(Value::as_str).filter(|name| !name.is_empty())
        else {
            return Err(Failure::usage(format!(
                "{place}: `{identity}` is missing. hint: {}s are recognized by it",
                kind.noun()
            )));
        };
        let mut given = Map::new();
        for field in kind.fields() {
            if let Some(value) = object.get(*field) {
                given.insert((*field).to_owned(), fields::normal(field, value, place)?);
            }
        }
        Ok(Self {
            kind,
            tenant: tenant.map(ToOwned::to_owned),
            identity: name.to_owned(),
            fields: given,
            secret_env: object.get("secret_env").and_then(Value::as_str).map(ToOwned::to_owned),
        })
    }

    pub fn is_same_resource(&self, other: &Self) -> bool {
        (self.kind, &self.tenant, &self.identity) == (other.kind, &other.tenant, &other.identity)
    }

    /// Returns a name such as `endpoint billing of acme`.
    pub fn name(&self) -> String {
        name(self.kind, self.tenant.as_deref(), &self.identity)
    }
}

pub fn name(kind: ResourceType, tenant: Option<&str>, identity: &str) -> String {
    match tenant {
        Some(tenant) => format!("{} {identity} of {tenant}", kind.noun()),
        None => format!("{} {identity}", kind.noun()),
    }
}

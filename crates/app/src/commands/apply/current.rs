//! Reads the current configuration of the gateway.

use serde_json::{Value, json};

use super::{
    declaration::Declaration,
    fields::{self, ResourceType},
    node::Node,
};
use crate::{
    commands::{Failure, client::rows, table::text},
    remote::{Remote, RemoteError},
};

#[derive(Default)]
pub struct CurrentState {
    pub resources: Vec<CurrentResource>,
}

pub struct CurrentResource {
    pub kind: ResourceType,
    pub tenant: Option<String>,
    pub identity: String,
    /// The id in paths of the API.
    pub key: String,
    pub value: Value,
}

/// Maximum resources of a kind.
const MAX: usize = 1_000_000;

/// Reads the resources that the declaration is about, or everything.
pub async fn read(remote: &Remote, declared: Option<&Declaration>) -> anyhow::Result<CurrentState> {
    let mut current = CurrentState::default();
    let is_wanted =
        |slug: &str| declared.is_none_or(|declared| declared.tenants().any(|one| one == slug));
    for tenant in rows(remote, "/v1/tenants", MAX).await?.rows {
        let slug = text(&tenant["slug"]);
        if is_wanted(&slug) {
            of_tenant(remote, &slug, &mut current).await?;
            current.add(ResourceType::Tenant, None, slug.clone(), tenant);
        }
    }
    if declared.is_none_or(|declared| declared.has_event_types) {
        event_types(remote, None, &mut current).await?;
    }
    if declared.is_none_or(|declared| declared.has_sources) {
        sources(remote, &mut current).await?;
    }
    Ok(current)
}

async fn of_tenant(remote: &Remote, slug: &str, current: &mut CurrentState) -> anyhow::Result<()> {
    let acting = remote.clone().acting_for(slug)?;
    for endpoint in rows(&acting, "/v1/webhooks", MAX).await?.rows {
        current.add(ResourceType::Endpoint, Some(slug), text(&endpoint["id"]), endpoint);
    }
    event_types(&acting, Some(slug), current).await
}

async fn event_types(
    remote: &Remote,
    tenant: Option<&str>,
    current: &mut CurrentState,
) -> anyhow::Result<()> {
    let catalog = if tenant.is_some() { "tenant" } else { "operator" };
    let path = format!("/v1/webhooks/events?catalog={catalog}");
    for event_type in rows(remote, &path, MAX).await?.rows {
        current.add(ResourceType::EventType, tenant, text(&event_type["name"]), event_type);
    }
    Ok(())
}

async fn sources(remote: &Remote, current: &mut CurrentState) -> anyhow::Result<()> {
    let found = match rows(remote, "/v1/sources", MAX).await {
        // A gateway that receives nothing has no sources.
        Err(error)
            if error
                .downcast_ref::<RemoteError>()
                .is_some_and(|error| error.code() == "receiving_off") =>
        {
            return Ok(());
        }
        other => other?.rows,
    };
    for source in found {
        current.add(ResourceType::Source, None, text(&source["partner"]), source);
    }
    Ok(())
}

impl CurrentState {
    fn add(&mut self, kind: ResourceType, tenant: Option<&str>, key: String, value: Value) {
        let identity = text(&value[kind.identity()]);
        self.resources.push(CurrentResource {
            kind,
            tenant: tenant.map(ToOwned::to_owned),
            identity,
            key,
            value,
        });
    }

    /// Keeps only these tenants and their resources, and nothing of the operator's.
    pub fn keep_tenants(&mut self, slugs: &[String]) -> anyhow::Result<()> {
        for slug in slugs {
            if !self
                .resources
                .iter()
                .any(|one| one.kind == ResourceType::Tenant && one.identity == *slug)
            {
                return Err(Failure::usage(format!(
                    "there is no tenant `{slug}`. hint: `gancho tenants list` lists them"
                )));
            }
        }
        self.resources.retain(|one| match (one.kind, &one.tenant) {
            (ResourceType::Tenant, _) => slugs.contains(&one.identity),
            (_, Some(tenant)) => slugs.contains(tenant),
            (_, None) => false,
        });
        Ok(())
    }

    /// Returns the resources as a file declares them.
    pub fn declaration(&self) -> Node {
        let mut tenants = Vec::new();
        for tenant in self.of(ResourceType::Tenant, None) {
            let mut fields = tenant.declaration();
            for (name, kind) in
                [("event_types", ResourceType::EventType), ("endpoints", ResourceType::Endpoint)]
            {
                push_list(&mut fields, name, self.nodes(kind, Some(&tenant.identity)));
            }
            tenants.push(Node::Map(fields));
        }
        let mut root = Vec::new();
        push_list(&mut root, "tenants", tenants);
        push_list(&mut root, "event_types", self.nodes(ResourceType::EventType, None));
        push_list(&mut root, "sources", self.nodes(ResourceType::Source, None));
        Node::Map(root)
    }

    /// Returns the resources of a kind by name.
    fn of(&self, kind: ResourceType, tenant: Option<&str>) -> Vec<&CurrentResource> {
        let is_one = |one: &&CurrentResource| one.kind == kind && one.tenant.as_deref() == tenant;
        let mut all: Vec<_> = self.resources.iter().filter(is_one).collect();
        all.sort_by(|a, b| a.identity.cmp(&b.identity));
        all
    }

    fn nodes(&self, kind: ResourceType, tenant: Option<&str>) -> Vec<Node> {
        self.of(kind, tenant).into_iter().map(|one| Node::Map(one.declaration())).collect()
    }
}

fn push_list(fields: &mut Vec<(&'static str, Node)>, name: &'static str, list: Vec<Node>) {
    if !list.is_empty() {
        fields.push((name, Node::List(list)));
    }
}

impl CurrentResource {
    fn declaration(&self) -> Vec<(&'static str, Node)> {
        // An endpoint without a name is identified by its id, which is unique.
        let identity = if self.identity.is_empty() { &self.key } else { &self.identity };
        let mut fields = vec![(self.kind.identity(), Node::Value(json!(identity)))];
        for field in self.kind.fields() {
            if let Some(value) = fields::written(field, &self.value[*field]) {
                fields.push((*field, Node::Value(value)));
            }
        }
        fields
    }

    /// Whether a declaration means this resource by the name.
    pub fn is_called(&self, identity: &str) -> bool {
        self.identity == identity || (self.kind == ResourceType::Endpoint && self.key == identity)
    }
}

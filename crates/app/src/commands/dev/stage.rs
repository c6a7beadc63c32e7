//! The gateway of `dev`: a sample tenant with an API key and an endpoint at the built-in receiver, and a
//! sample partner whose webhooks go to the same receiver. Everything is reused in the next run, so that
//! copied commands keep working.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use anyhow::{Context, bail};
use bytes::Bytes;
use gancho_api::Simulator;
use gancho_domain::{EndpointId, Tenant, TenantScope};
use gancho_inbound::{KeyDraft, Partner, SourceDraft, SourceError};
use gancho_outbound::{EndpointDraft, NewEvent};
use gancho_wire::new_secret;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc::UnboundedReceiver};
use tokio_util::task::TaskTracker;

use crate::{
    dev_gateway,
    gateway::{Gateway, Setup},
    operator_token, private_file,
    receiver::{ReceivedWebhook, Receiver},
    remote::Remote,
    servers::Servers,
    settings::{self, Secret},
};

pub struct Stage {
    pub gateway: Gateway,
    pub servers: Servers,
    pub receiver: Receiver,
    pub tenant: Tenant,
    pub endpoint: EndpointId,
    /// Where the sample partner posts.
    pub ingest: SocketAddr,
    pub api_key: Secret,
    /// Signs in to the dashboard, once.
    pub login_link: Option<String>,
    pub data_dir: String,
    pub operator: Remote,
    operator_token: Secret,
    number: AtomicU64,
}

const TENANT: &str = "demo";
pub const PARTNER: &str = "acme";
/// The API key of the sample tenant, in the data directory.
pub const KEY_FILE: &str = "dev.key";
const ENDPOINT: &str = "built-in receiver";
/// Ports tried after the requested one.
const MORE_PORTS: u16 = 50;
/// Lets the system choose a free port.
const ANY_PORT: u16 = 0;

pub async fn set(
    data_dir: &Path,
    port: u16,
    tasks: &TaskTracker,
) -> anyhow::Result<(Stage, UnboundedReceiver<ReceivedWebhook>)> {
    private_file::folder(data_dir)?;
    let shown = data_dir.display().to_string();
    let mut loaded = settings::built_in(&[("data_dir", &shown), ("email_via", "sink")])?;
    let client = gancho_egress::Settings::for_dev();
    let api_listener = listen_from(port, |_| true).await?;
    loaded.settings.api_listen = api_listener.local_addr()?;
    let ingest_listener = listen_from(loaded.settings.ingest_listen.port(), |_| true).await?;
    let next_port = loaded.settings.api_listen.port().checked_add(1).unwrap_or(0);
    let may_get_deliveries =
        |port: u16| client.policy.parse(&format!("http://{}:{port}/", Ipv4Addr::LOCALHOST)).is_ok();
    let receiver_listener = listen_from(next_port, may_get_deliveries).await?;

    let gateway = Gateway::start(Setup { client, ..Setup::of(&loaded)? }).await?;
    let token = operator_token::of(&loaded.settings)?;
    let mut servers = Servers::start(&gateway, &loaded.settings, token.check()?, api_listener)?;
    let ingest = ingest_listener.local_addr()?;
    servers.receive(&gateway, &loaded.settings, Simulator::Anyone, ingest_listener)?;

    let tenant = gateway.tenants.get_or_create(TENANT, "standard").await?;
    let address = receiver_listener.local_addr()?;
    let url = format!("http://{address}/webhooks");
    let (endpoint, secret) = aim(&gateway, &tenant, &url).await?;
    welcome(&gateway, &url, secret.reveal()).await?;
    let (receiver, arrivals) = Receiver::start(receiver_listener, secret.reveal(), tasks)?;
    let login_link = servers.login_link(&token.text).await;
    let operator = Remote::at(servers.address, token.text.clone());
    let api_key = api_key(&operator, &servers, data_dir).await?;
    dev_gateway::announce(data_dir, servers.address)?;
    let stage = Stage {
        gateway,
        servers,
        receiver,
        tenant,
        endpoint,
        ingest,
        api_key,
        login_link,
        data_dir: shown,
        operator,
        operator_token: token.text,
        number: AtomicU64::new(0),
    };
    Ok((stage, arrivals))
}

/// Listens on the first suitable free port, starting with this one, or on any if all of them are in use.
async fn listen_from(port: u16, fits: impl Fn(u16) -> bool) -> anyhow::Result<TcpListener> {
    let next = (port..=port.saturating_add(MORE_PORTS)).filter(|port| fits(*port));
    for port in next.chain([ANY_PORT]) {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {}
            Err(error) => {
                let hint = match error.kind() {
                    std::io::ErrorKind::PermissionDenied => {
                        ". hint: ports below 1024 are for root; choose another one with --port"
                    }
                    _ => "",
                };
                return Err(error).with_context(|| format!("cannot listen on port {port}{hint}"));
            }
        }
    }
    bail!("no port is free")
}

/// Updates the endpoint of the previous run to the receiver's current URL, or creates one. Also returns its
/// secret.
async fn aim(
    gateway: &Gateway,
    tenant: &Tenant,
    url: &str,
) -> anyhow::Result<(EndpointId, Secret)> {
    let scope = TenantScope::internal(tenant.id);
    let known = gateway.store.endpoints(scope).await?;
    if let Some(old) = known.into_iter().find(|endpoint| endpoint.name == ENDPOINT) {
        let draft = EndpointDraft {
            url: Some(url.to_owned()),
            is_active: Some(true),
            ..EndpointDraft::default()
        };
        gateway.endpoints.change(scope, old.id, draft, false).await?;
        let revealed = gateway.endpoints.reveal(scope, old.id).await?;
        return Ok((old.id, Secret::new(revealed.secret.as_str())));
    }
    let draft = EndpointDraft {
        url: Some(url.to_owned()),
        events: Some(vec!["*".to_owned()]),
        name: Some(ENDPOINT.to_owned()),
        ..EndpointDraft::default()
    };
    let created = gateway.endpoints.create(scope, tenant, draft).await?;
    Ok((created.endpoint.id, Secret::new(created.secret.as_str())))
}

/// Sets up the sample partner. Its webhooks are dispatched to the receiver, signed with the secret that it
/// expects.
async fn welcome(gateway: &Gateway, url: &str, secret: &str) -> anyhow::Result<()> {
    let receiving = gateway.receiving.as_ref().context("receiving is not enabled")?;
    let partner: Partner = PARTNER.parse()?;
    let draft = SourceDraft {
        target_url: Some(url.to_owned()),
        dispatch_secret: Some(secret.to_owned()),
        is_active: Some(true),
        ..SourceDraft::default()
    };
    match receiving.sources.change(&partner, draft.clone()).await {
        Err(SourceError::NotFound) => {
            let partner = Some(PARTNER.to_owned());
            receiving.sources.create(SourceDraft { partner, ..draft }).await?;
        }
        changed => {
            changed?;
        }
    }
    // The previous run may have ended before it created the key.
    if !receiving.sources.keys(&partner).await?.is_empty() {
        return Ok(());
    }
    let key = KeyDraft {
        scheme: Some("hmac".to_owned()),
        secret: Some(new_secret()?),
        ..KeyDraft::default()
    };
    receiving.sources.put_key(&partner, "k1", key).await?;
    Ok(())
}

/// Returns the API key of the previous run if it is still valid, or a new one. Only `dev` stores a key
/// unencrypted.
async fn api_key(operator: &Remote, servers: &Servers, data_dir: &Path) -> anyhow::Result<Secret> {
    let path = data_dir.join(KEY_FILE);
    if let Some(kept) = private_file::read(&path)? {
        let key = Secret::new(kept.trim());
        if Remote::at(servers.address, key.clone()).get("/v1/webhooks").await.is_ok() {
            return Ok(key);
        }
    }
    let made = operator
        .post(&format!("/v1/tenants/{TENANT}/api-keys"), &json!({ "name": "dev" }))
        .await
        .context("cannot create an API key")?;
    let key = made["key"].as_str().context("the response contains no key")?;
    private_file::replace(&path, &format!("{key}\n"))?;
    Ok(Secret::new(key))
}

impl Stage {
    pub fn scope(&self) -> TenantScope {
        TenantScope::internal(self.tenant.id)
    }

    pub async fn new_login_link(&self) -> Option<String> {
        self.servers.login_link(&self.operator_token).await
    }

    /// Returns the next number for a sample's data.
    pub fn next_number(&self) -> u64 {
        self.number.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub async fn publish(&self, event_type: &str, data: &Value) -> anyhow::Result<()> {
        let event = NewEvent {
            event_type: event_type.parse()?,
            data: Bytes::from(data.to_string()),
            subject: None,
            external_id: None,
            idempotency_key: None,
            deliver_at: None,
            is_test: false,
            trace: None,
            intake_id: None,
        };
        self.gateway.publisher.publish(self.scope(), &self.tenant, event).await?;
        Ok(())
    }

    /// Returns the e-mail that was captured last, with its raw message.
    pub async fn last_email(&self) -> anyhow::Result<Value> {
        let captured = self.operator.get("/v1/dev/emails").await?;
        let id = captured["data"][0]["outboxId"].as_str().context("no e-mail was captured")?;
        Ok(self.operator.get(&format!("/v1/dev/emails/{id}")).await?)
    }
}

//! The API and the ingest service, each on its listener, and how they are closed.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use gancho_access::{OperatorToken, Principal};
use gancho_api::{Api, ListenSettings, MetricsAccess, Simulator, TrustedProxies};
use gancho_dashboard::LoginLinks;
use gancho_engine::StopSummary;
use tokio::{net::TcpListener, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    dashboard,
    gateway::{Gateway, has_role},
    settings::{Role, Secret, Settings},
    svix,
};

pub struct Servers {
    pub address: SocketAddr,
    /// The address that partners post to; `None` if there is none.
    pub ingest: Option<SocketAddr>,
    stop: CancellationToken,
    tasks: TaskTracker,
    api: Api,
    login_links: Arc<LoginLinks>,
}

impl Servers {
    pub fn start(
        gateway: &Gateway,
        settings: &Settings,
        admin: OperatorToken,
        listener: TcpListener,
    ) -> anyhow::Result<Self> {
        let address = listener.local_addr()?;
        let public_url = match &settings.public_url {
            Some(url) => url.as_str().trim_end_matches('/').to_owned(),
            None => format!("http://{address}"),
        };
        let api = gateway.api(
            admin,
            gancho_api::Settings {
                body_bytes: settings.publish_body_limit.0 as usize,
                batch_bytes: settings.publish_body_limit.0 as usize * 8,
                public_url,
                metrics_for: metrics_for(settings, address),
                egress_addresses: settings
                    .egress_addresses
                    .iter()
                    .map(ToString::to_string)
                    .collect(),
                audit_retention: settings.audit_retention,
                ..gancho_api::Settings::default()
            },
        );
        let limits = ListenSettings {
            connections: settings.max_connections,
            allowed_hosts: settings
                .allowed_hosts
                .iter()
                .cloned()
                .chain(public_host(settings))
                .collect(),
            ..limits(settings)
        };
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let login_links = Arc::new(LoginLinks::default());
        // A node that only delivers or receives can still be monitored.
        let router = if has_role(settings, Role::Api) {
            let pages = dashboard::router(&api, settings, login_links.clone());
            gancho_api::router(&api, pages.merge(svix::router(&api)))
        } else {
            gancho_api::node_router(&api)
        };
        let listening = gancho_api::listen(listener, api.clone(), router, limits, stop.clone());
        tasks.spawn(async move {
            if let Err(error) = listening.await {
                tracing::error!(%error, "API listener failed");
            }
        });
        Ok(Self { address, ingest: None, stop, tasks, api, login_links })
    }

    /// Lets partners post to that listener as well.
    pub fn receive(
        &mut self,
        gateway: &Gateway,
        settings: &Settings,
        simulator: Simulator,
        listener: TcpListener,
    ) -> anyhow::Result<()> {
        let Some(ingest) = gateway.ingest(simulator) else { return Ok(()) };
        self.ingest = Some(listener.local_addr()?);
        let limits =
            ListenSettings { connections: settings.ingest_max_connections, ..limits(settings) };
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            if let Err(error) = ingest.listen(listener, limits, stop).await {
                tracing::error!(%error, "ingest listener failed");
            }
        });
        Ok(())
    }

    /// Returns a new link that signs in to the dashboard once, for the holder of the operator token.
    pub async fn login_link(&self, token: &Secret) -> Option<String> {
        let principal = self.api.access.authenticate(token.reveal(), None).await.ok()?;
        let Principal::Operator(operator) = principal else { return None };
        let path = self.login_links.create(operator, self.api.clock.now()).ok()?;
        Some(format!("{}{path}", self.api.settings.public_url))
    }

    /// Accepts no more connections. Requests that are being answered are finished.
    pub fn close(&self) {
        self.api.tails.close();
        self.stop.cancel();
    }

    /// Makes `/readyz` return 503 while requests are still served, so that load balancers send them
    /// elsewhere, and then stops softly.
    pub async fn stop(&self, gateway: &Gateway, settings: &Settings) -> StopSummary {
        gateway.watch.stopping();
        if !settings.lame_duck.is_zero() {
            tokio::time::sleep(settings.lame_duck).await;
        }
        self.drain(gateway, settings.stop_timeout).await
    }

    /// Stops softly: accepts no more requests, then lets the gateway finish deliveries in flight, all within
    /// the time.
    pub async fn drain(&self, gateway: &Gateway, within: Duration) -> StopSummary {
        let until = Instant::now() + within;
        gateway.watch.stopping();
        // The engine keeps working meanwhile, so that callers that wait for an attempt get its outcome. A
        // slow caller must not use up the time that deliveries in flight need.
        let _ = tokio::time::timeout(within / 2, self.closed()).await;
        gateway.drain(until.saturating_duration_since(Instant::now())).await
    }

    /// Returns when the last connection has ended.
    async fn closed(&self) {
        self.close();
        self.tasks.close();
        self.tasks.wait().await;
        self.api.finish().await;
    }
}

/// Returns the limits of both listeners.
fn limits(settings: &Settings) -> ListenSettings {
    ListenSettings {
        connections_per_address: settings.max_connections_per_address,
        trusted_proxies: TrustedProxies::new(settings.trusted_proxies.iter().copied()),
        ..ListenSettings::default()
    }
}

fn metrics_for(settings: &Settings, listening: SocketAddr) -> MetricsAccess {
    let is_local = settings.metrics_local && listening.ip().is_loopback();
    match (settings.metrics_public, is_local) {
        (true, _) => MetricsAccess::Anyone,
        (false, true) => MetricsAccess::ThisMachine,
        (false, false) => MetricsAccess::Operator,
    }
}

/// Returns the host name under which people reach the gateway.
fn public_host(settings: &Settings) -> Option<String> {
    let uri: http::Uri = settings.public_url.as_ref()?.as_str().parse().ok()?;
    uri.host().map(ToOwned::to_owned)
}

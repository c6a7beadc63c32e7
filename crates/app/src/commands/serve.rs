//! `gancho serve`: runs the gateway until it is asked to stop.

use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::Args;
use gancho_api::Simulator;
use tokio::net::{TcpListener, TcpSocket};

use super::failure::exit_code;
use crate::{
    declared_endpoints, file_handles,
    gateway::{Gateway, Setup, has_role, role_names, shared_settings},
    lifecycle::{ReloadSignal, Stop},
    logs, operator_token, private_file,
    reload::Reloader,
    servers::Servers,
    service_manager::ServiceManager,
    settings::{self, Flags, LoadedSettings, Role, Settings, address_policy},
};

/// Connections that may wait until they are accepted; the kernel's maximum (`net.core.somaxconn`) comes before it. A
/// client that finds no place tries again after a second, so a crowd must not fill it.
const MAX_WAITING: u32 = 16_384;

/// Run the gateway.
///
/// SIGTERM or Ctrl-C finishes in-flight work and stops; a second one stops immediately.
#[derive(Debug, Args)]
pub struct Serve {
    /// Run only this role: api, ingest or worker. Can be repeated.
    #[arg(long, value_name = "ROLE")]
    role: Vec<String>,
    #[command(flatten)]
    flags: Flags,
}

impl Serve {
    pub async fn run(self) -> anyhow::Result<()> {
        let flags = Flags { roles: self.role, ..self.flags };
        let served = Self::serve(&flags).await;
        served.map_err(|error| {
            let exit_code = exit_code(&error);
            logs::fatal(settings::log_format(&flags), error, exit_code)
        })
    }

    async fn serve(flags: &Flags) -> anyhow::Result<()> {
        let started = Instant::now();
        let mut stop = Stop::listen();
        let hang_up = ReloadSignal::listen();
        let service_manager = ServiceManager::of_process();
        let mut loaded = load(flags)?;
        let mut setup = Setup::of(&loaded)?;
        let written = shared_settings::written_but_token(&loaded);
        file_handles::share_out(file_handles::raise(), &mut loaded.settings, &mut setup);
        let listeners = Listeners::bind(&loaded.settings)?;
        // An unreadable token ends the start before anything is done.
        operator_token::find(&loaded.settings)?;
        let starting = service_manager.starting();
        let mut gateway = Gateway::start(setup).await?;
        let opened = open(&mut gateway, listeners, flags, &loaded, written).await;
        let (reloader, servers) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                // Without leaving, it would be reported as a lost node.
                gateway.drain(Duration::ZERO).await;
                return Err(error);
            }
        };
        drop(starting);
        log_ready(&gateway, &servers, &loaded.settings, started);
        service_manager.ready();

        let failed = tokio::select! {
            biased;
            () = stop.requested() => None,
            fatal = gateway.engine.failed() => Some(fatal),
            never = reloader.run(hang_up) => match never {},
            never = service_manager.keep_alive() => match never {},
        };
        if let Some(fatal) = failed {
            servers.close();
            return Err(fatal).context("fatal engine error");
        }
        service_manager.stopping();
        finish(&gateway, &servers, &loaded.settings, stop).await
    }
}

/// Reads the settings and starts the log.
fn load(flags: &Flags) -> anyhow::Result<LoadedSettings> {
    let loaded = settings::load(flags)?;
    logs::start(loaded.settings.log_format, &loaded.settings.log_level);
    for warning in &loaded.warnings {
        tracing::warn!(reason = warning, "configuration warning");
    }
    private_file::folder(&loaded.settings.data_dir)?;
    Ok(loaded)
}

struct Listeners {
    api: TcpListener,
    ingest: Option<TcpListener>,
}

impl Listeners {
    fn bind(settings: &Settings) -> anyhow::Result<Self> {
        let api = bind(settings.api_listen, "api_listen")?;
        let ingest = if has_role(settings, Role::Ingest) {
            Some(bind(settings.ingest_listen, "ingest_listen")?)
        } else {
            None
        };
        Ok(Self { api, ingest })
    }
}

fn bind(address: SocketAddr, setting: &str) -> anyhow::Result<TcpListener> {
    listen(address).with_context(|| {
        format!("cannot listen on {address} ({setting}); is another gateway running?")
    })
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restart may use the port at once.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(MAX_WAITING)
}

/// Opens the gateway to callers. `written` are the settings as they were given.
async fn open(
    gateway: &mut Gateway,
    listeners: Listeners,
    flags: &Flags,
    loaded: &LoadedSettings,
    written: Vec<(&'static str, String)>,
) -> anyhow::Result<(Arc<Reloader>, Servers)> {
    // A refused start leaves no token behind.
    let written = shared_settings::with_token(written, loaded)?;
    let reloadable_parts = gateway.reloadable_parts();
    reloadable_parts.compare_settings(&written).await?;
    let (flags, file) = (flags.clone(), loaded.file.clone());
    let reloader = Arc::new(Reloader::new(reloadable_parts, flags, file, written));
    gateway.reloader = Some(reloader.clone());
    declared_endpoints::apply(gateway, loaded).await?;
    warn_of_risks(gateway, &loaded.settings).await?;
    let mut servers = start_servers(gateway, loaded, listeners.api)?;
    if let Some(listener) = listeners.ingest {
        let operator = Simulator::Operator(operator_token::of(&loaded.settings)?.check()?);
        servers.receive(gateway, &loaded.settings, operator, listener)?;
    }
    Ok((reloader, servers))
}

fn log_ready(gateway: &Gateway, servers: &Servers, settings: &Settings, started: Instant) {
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        api = %servers.address,
        ingest = servers.ingest.map(tracing::field::display),
        store = gateway.store.name(),
        roles = role_names(settings),
        startup_ms = started.elapsed().as_millis() as u64,
        "gancho is ready"
    );
}

/// Finishes in-flight work, or stops immediately at a second signal.
async fn finish(
    gateway: &Gateway,
    servers: &Servers,
    settings: &Settings,
    mut stop: Stop,
) -> anyhow::Result<()> {
    tracing::info!("stopping; finishing in-flight work");
    tokio::select! {
        biased;
        () = stop.requested() => {
            gateway.engine.abort();
            anyhow::bail!("stopped immediately after a second signal; in-flight deliveries will be retried");
        }
        stopped = servers.stop(gateway, settings) => {
            match stopped.unfinished {
                0 => tracing::info!("stopped; all in-flight deliveries finished"),
                // They are returned to the store, so nothing is lost.
                count => tracing::warn!(count, "stopped; unfinished deliveries will be retried"),
            }
        }
    }
    Ok(())
}

/// Starts the listener: with the whole API, or only with health and metrics if this node just delivers.
fn start_servers(
    gateway: &Gateway,
    loaded: &LoadedSettings,
    listener: TcpListener,
) -> anyhow::Result<Servers> {
    let settings = &loaded.settings;
    let token = operator_token::of(settings)?;
    match &token.file {
        // A warning, so that it is visible at every log level: nobody can call the API without the token.
        Some(path) if token.is_new => {
            tracing::warn!(path = %path.display(), "operator token created");
        }
        Some(path) => tracing::info!(path = %path.display(), "operator token loaded"),
        None => {}
    }
    if let Some(weakness) = operator_token::weakness(token.text.reveal()) {
        tracing::warn!(
            reason = weakness,
            hint = "generate one with: openssl rand -hex 32",
            "operator token is weak"
        );
    }
    Servers::start(gateway, settings, token.check()?, listener)
}

/// Warns of settings that are permitted, but usually not intended.
async fn warn_of_risks(gateway: &Gateway, settings: &Settings) -> anyhow::Result<()> {
    warn_of_private_networks(gateway, settings).await?;
    let unsent = gateway.unsent_emails().await?;
    if unsent > 0 {
        tracing::warn!(
            count = unsent,
            hint = "they are sent when email_via is set, or by another node, and become dead letters \
                    (EXPIRED) an hour after email_expiry",
            "e-mail is off on this node while e-mails are waiting"
        );
    }
    if !gateway.has_archive {
        tracing::warn!(
            hint = "dead letters stay in the database until they are replayed or purged; set archive_url, or \
                    archive_dir to a directory that all nodes share",
            "neither archive_url nor archive_dir is set"
        );
    }
    Ok(())
}

/// Warns of private networks that are open to several tenants, so that one of them could reach another's
/// systems. Open to one tenant they are usually intended.
async fn warn_of_private_networks(gateway: &Gateway, settings: &Settings) -> anyhow::Result<()> {
    let networks = address_policy::private_networks(settings);
    if networks.is_empty() {
        return Ok(());
    }
    let tenants = gateway.store.tenants_to_show(None, 3).await?;
    if tenants.iter().filter(|tenant| !tenant.is_operators()).count() > 1 {
        let networks = networks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        tracing::warn!(
            networks,
            hint = "for your own targets, use operator_allow_cidrs instead",
            "allow_cidrs lets the endpoints of all tenants reach private networks"
        );
    }
    Ok(())
}

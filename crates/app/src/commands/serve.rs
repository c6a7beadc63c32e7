//! `gancho serve`: the gateway, by its settings, until it is asked to stop.

use std::{convert::Infallible, net::SocketAddr, time::Instant};

use anyhow::Context;
use clap::Args;
use gancho_api::Simulator;
use tokio::net::TcpListener;

use crate::{
    admin_token, asked_for, file_handles,
    front::Front,
    gateway::{Gateway, Setup, has_role},
    lifecycle::{HangUp, Stop},
    logs, private_file,
    settings::{self, Flags, Loaded, Role, Settings, address_policy},
};

/// Run the gateway. SIGTERM or Ctrl-C lets what is in flight finish; a second one stops at once.
#[derive(Debug, Args)]
pub struct Serve {
    /// Run a part only: api, ingest or worker; may be given several times.
    #[arg(long, value_name = "ROLE")]
    role: Vec<String>,
    #[command(flatten)]
    flags: Flags,
}

impl Serve {
    pub async fn run(self) -> anyhow::Result<()> {
        let started = Instant::now();
        let mut stop = Stop::listen();
        let mut loaded = settings::load(&Flags { roles: self.role, ..self.flags })?;
        let settings = &loaded.settings;
        logs::start(settings.log_format, &settings.log_level);
        for warning in &loaded.warnings {
            tracing::warn!("{warning}");
        }
        private_file::folder(&settings.data_dir)?;
        let mut setup = Setup::of(&loaded)?;
        file_handles::share_out(file_handles::raise(), &mut loaded.settings, &mut setup);
        let settings = &loaded.settings;
        let listener = bind(settings.api_listen, "api_listen").await?;
        let ingest_listener = if has_role(settings, Role::Ingest) {
            Some(bind(settings.ingest_listen, "ingest_listen").await?)
        } else {
            None
        };
        let gateway = Gateway::start(setup).await?;
        asked_for::keep_in_step(&gateway, &loaded).await?;
        warn_of_private_networks(&gateway, settings).await?;
        let unsent = gateway.unsent_emails().await?;
        if unsent > 0 {
            tracing::warn!(
                count = unsent,
                "e-mail is switched off on this node and e-mails are waiting: they are sent if email_via is \
                 set again, or by another node, and become dead letters (EXPIRED) after 25 hours"
            );
        }
        if !gateway.has_archive {
            tracing::warn!(
                "archive_dir is not set: dead letters that are too old or too many stay in the database \
                 until they are replayed or purged"
            );
        }
        let mut front = start_front(&gateway, &loaded, listener)?;
        if let Some(listener) = ingest_listener {
            let operator = Simulator::Operator(admin_token::of(settings)?.check()?);
            front.receive(&gateway, settings, operator, listener)?;
        }
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            api = %front.address,
            ingest = front.ingest.map(tracing::field::display),
            store = gateway.store.name(),
            roles = ?roles(settings),
            after_ms = started.elapsed().as_millis() as u64,
            "gancho is ready"
        );

        let failed = tokio::select! {
            biased;
            () = stop.asked() => None,
            fatal = gateway.engine.failed() => Some(fatal),
            never = reload_on_hang_up(&gateway) => match never {},
        };
        if let Some(fatal) = failed {
            front.close();
            return Err(fatal).context("the gateway stops");
        }
        tracing::info!("asked to stop: finishing what is in flight");
        tokio::select! {
            biased;
            () = stop.asked() => {
                gateway.engine.abort();
                anyhow::bail!("asked to stop a second time: what was in flight will be delivered again");
            }
            stopped = front.drain(&gateway, settings.stop_timeout) => {
                match stopped.unfinished {
                    0 => tracing::info!("stopped; nothing was left in the air"),
                    // They are given back to the store, so nothing is lost.
                    count => tracing::warn!(count, "stopped; these were still in flight and will be tried again"),
                }
            }
        }
        Ok(())
    }
}

async fn bind(address: SocketAddr, setting: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address} ({setting}): is another gateway running?")
    })
}

/// SIGHUP reads the policy pack again.
async fn reload_on_hang_up(gateway: &Gateway) -> Infallible {
    let mut hang_up = HangUp::listen();
    loop {
        hang_up.came().await;
        if let Some(receiving) = &gateway.receiving {
            receiving.reload();
        }
    }
}

fn roles(settings: &Settings) -> Vec<&'static str> {
    let all = [(Role::Api, "api"), (Role::Ingest, "ingest"), (Role::Worker, "worker")];
    all.into_iter().filter(|(role, _)| has_role(settings, *role)).map(|(_, name)| name).collect()
}

/// The listener with all of the API on it, or with health and metrics alone where this node only
/// delivers.
fn start_front(gateway: &Gateway, loaded: &Loaded, listener: TcpListener) -> anyhow::Result<Front> {
    let settings = &loaded.settings;
    let token = admin_token::of(settings)?;
    match &token.file {
        // To be seen even by those who asked for few log lines: without it nobody can do anything.
        Some(path) if token.is_new => tracing::warn!(path = %path.display(), "made an admin token"),
        Some(path) => tracing::info!(path = %path.display(), "the admin token is kept there"),
        None => {}
    }
    if let Some(weakness) = admin_token::weakness(token.text.reveal()) {
        tracing::warn!(
            weakness,
            "the operator's token could be guessed; make a better one with: openssl rand -hex 32"
        );
    }
    Front::start(gateway, settings, token.check()?, listener)
}

/// Private networks that are open to one tenant are mostly meant to be; open to several, one may look
/// into what is another's.
async fn warn_of_private_networks(gateway: &Gateway, settings: &Settings) -> anyhow::Result<()> {
    let networks = address_policy::private_networks(settings);
    if networks.is_empty() {
        return Ok(());
    }
    let tenants = gateway.store.tenants(None, 3).await?;
    if tenants.iter().filter(|tenant| !tenant.is_operators()).count() > 1 {
        let networks = networks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        tracing::warn!(
            networks,
            "allow_cidrs lets every tenant's endpoints reach private networks: for the core and other \
             targets of your own use operator_allow_cidrs instead"
        );
    }
    Ok(())
}

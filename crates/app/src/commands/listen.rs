//! `gancho listen`: forwards what a tenant publishes, or what a partner sends, to a local URL, as it happens.
//!
//! It reads pages of what is new since the last item, instead of a live stream, so that a broken connection
//! loses and repeats nothing. `feed` finds what is new, `forward` sends it.

mod feed;
mod forward;

use std::time::Duration;

use clap::Args;
use gancho_domain::Pattern;

use super::{
    client::{TenantArgs, list_args::ago},
    input::SecretFrom,
    wire_profile::ProfileFile,
};
use crate::{
    lifecycle::Stop,
    paint::{BOLD, DIM},
    remote::{RemoteError, ServerUrl},
};
use feed::{Feed, FeedKind};
use forward::Forwarder;

/// Forward a tenant's events to a local URL as they are published, signed like deliveries.
///
/// With --source, the webhooks of a partner instead. Runs until interrupted, and reconnects without loss or
/// repeats.
#[derive(Debug, Args)]
pub struct Listen {
    /// URL to forward to, e.g. http://127.0.0.1:8080/hooks.
    #[arg(long, value_name = "URL")]
    forward_to: String,
    /// Only events of this type, or of all types with a prefix: invoice.paid, 'invoice.*'. Can be repeated.
    #[arg(long = "type", value_name = "PATTERN", value_delimiter = ',')]
    types: Vec<Pattern>,
    /// Sign as deliveries to this endpoint are signed: wh_… Default: with a secret that is printed.
    #[arg(long, value_name = "ID", conflicts_with_all = ["wire_profile", "secret_file", "secret_env"])]
    endpoint: Option<String>,
    /// Wire format: standard, email-gateway, auracore, saas, svix, convoy or outpost.
    #[arg(long, value_name = "NAME")]
    wire_profile: Option<String>,
    #[command(flatten)]
    profiles: ProfileFile,
    #[command(flatten)]
    secret: SecretFrom,
    /// Forward the webhooks of this partner instead. Takes the operator's token.
    #[arg(long, value_name = "PARTNER", conflicts_with_all = ["types", "endpoint"])]
    source: Option<String>,
    /// Also forward older events, from this time on or from this long ago: 2026-11-15T10:00:00Z, 30m.
    /// Default: only new ones.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Resume after this event or receipt. Its id is printed when `listen` is stopped.
    #[arg(long, value_name = "ID", conflicts_with = "since")]
    after: Option<String>,
    #[command(flatten)]
    acting: TenantArgs,
}

/// Time between two reads while there is nothing new.
const POLL: Duration = Duration::from_millis(500);
/// Time between two attempts to reconnect.
const RECONNECT: Duration = Duration::from_secs(2);

impl Listen {
    pub async fn run(self) -> anyhow::Result<()> {
        let mut stop = Stop::listen();
        let target = forward::target(&self.forward_to)?;
        let as_json = self.acting.client.json;
        let (remote, kind) = match &self.source {
            Some(partner) => {
                (self.acting.client.gateway().await?, FeedKind::Receipts(partner.clone()))
            }
            None => (self.acting.gateway().await?, FeedKind::Events),
        };
        let forwarder = Forwarder::new(&remote, &self, target).await?;
        let since = self.since.as_deref().map(ago);
        let mut feed = Feed::open(&remote, kind, since, self.after.as_deref()).await?;
        self.welcome(remote.server(), &forwarder);
        let ended = tokio::select! {
            biased;
            () = stop.requested() => Ok(()),
            ended = self.follow(&mut feed, &forwarder, as_json) => ended,
        };
        if let (Some(last), false) = (feed.last_id(), as_json) {
            anstream::eprintln!("\n{DIM}To resume after the last event: --after {last}{DIM:#}");
        }
        ended
    }

    fn welcome(&self, server: &ServerUrl, forwarder: &Forwarder) {
        let what = match &self.source {
            Some(partner) => format!("webhooks of {partner}"),
            None if self.types.is_empty() => "events".to_owned(),
            None => {
                let types: Vec<_> = self.types.iter().map(ToString::to_string).collect();
                format!("events of {}", types.join(", "))
            }
        };
        anstream::eprintln!("Forwarding {what} from {server} to {BOLD}{}{BOLD:#}", self.forward_to);
        if let Some(secret) = &forwarder.shown_secret {
            anstream::eprintln!("Signing secret: {BOLD}{secret}{BOLD:#}");
        }
        anstream::eprintln!("{DIM}Press Ctrl-C to stop.{DIM:#}\n");
    }

    /// Returns when nobody reads the output any more, or on a permanent error.
    async fn follow(
        &self,
        feed: &mut Feed,
        forwarder: &Forwarder,
        as_json: bool,
    ) -> anyhow::Result<()> {
        let mut is_lost = false;
        loop {
            let round = self.round(feed, forwarder, as_json).await;
            let pause = match round {
                Ok(true) => {
                    is_lost = false;
                    POLL
                }
                Ok(false) => return Ok(()),
                Err(error)
                    if error.downcast_ref::<RemoteError>().is_some_and(RemoteError::is_passing) =>
                {
                    if !is_lost {
                        anstream::eprintln!("{error}; reconnecting");
                    }
                    is_lost = true;
                    RECONNECT
                }
                Err(error) => return Err(error),
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Forwards what is new, oldest first. Returns whether someone still reads the output.
    async fn round(
        &self,
        feed: &mut Feed,
        forwarder: &Forwarder,
        as_json: bool,
    ) -> anyhow::Result<bool> {
        for item in feed.new_items().await? {
            if self.is_wanted(&item.event_type) {
                let message = feed.message(&item).await?;
                let outcome = forwarder.send(&message).await;
                if !forward::print(&message, &outcome, as_json)? {
                    return Ok(false);
                }
            }
            feed.done(&item);
        }
        Ok(true)
    }

    fn is_wanted(&self, event_type: &str) -> bool {
        self.types.is_empty() || self.types.iter().any(|pattern| pattern.matches(event_type))
    }
}

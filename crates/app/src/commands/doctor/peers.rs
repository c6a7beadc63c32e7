//! Whether the servers that the settings name accept connections: the mail server, the core, and where notices and
//! traces go. Nothing is sent.

use std::time::Duration;

use gancho_mail::smtp::SmtpServer;
use tokio::{net::TcpStream, time::timeout};
use url::Url;

use super::report::Report;
use crate::settings::{LoadedSettings, Origin};

const TIMEOUT: Duration = Duration::from_secs(5);

struct Peer {
    check: &'static str,
    setting: &'static str,
    host: String,
    port: u16,
    /// What happens while it is away.
    meanwhile: &'static str,
    /// Deliveries need it.
    is_vital: bool,
}

pub async fn peers(report: &mut Report, loaded: &LoadedSettings) {
    for peer in named(loaded) {
        let Peer { check, setting, host, port, meanwhile, is_vital } = &peer;
        // As in URLs, an IPv6 address is in brackets.
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let why = match timeout(TIMEOUT, TcpStream::connect((bare, *port))).await {
            Ok(Ok(_)) => {
                report.ok(check, format!("{host}:{port} accepts connections"));
                continue;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no response".to_owned(),
        };
        let (text, hint) = (
            format!("{host}:{port}: {why}"),
            format!("start it, or correct {setting}; {meanwhile} meanwhile"),
        );
        if *is_vital {
            report.fail(check, text, &hint);
        } else {
            report.warn(check, text, &hint);
        }
    }
}

/// Those that somebody has set.
fn named(loaded: &LoadedSettings) -> Vec<Peer> {
    let settings = &loaded.settings;
    let mut peers = Vec::new();
    let smtp = settings.smtp_url.as_ref();
    if let Some(Ok(server)) = smtp.map(|url| url.reveal().parse::<SmtpServer>()) {
        let SmtpServer { host, port, .. } = server;
        let meanwhile = "e-mails wait";
        let (check, setting, is_vital) = ("mail server", "smtp_url", true);
        peers.push(Peer { check, setting, host, port, meanwhile, is_vital });
    }
    let slack = settings.notify_slack_url.as_ref();
    let slack = slack.and_then(|url| url.reveal().parse::<Url>().ok());
    let links = [
        ("core", "dispatch_url", Some(&*settings.dispatch_url), "received webhooks wait"),
        ("notices", "notify_url", settings.notify_url.as_deref(), "notices are sent again or lost"),
        ("chat", "notify_slack_url", slack.as_ref(), "messages are sent again or lost"),
        ("traces", "otlp_endpoint", settings.otlp_endpoint.as_deref(), "spans are dropped"),
    ];
    for (check, setting, link, meanwhile) in links {
        let is_set = loaded.origins.get(setting) != Some(&Origin::Default);
        let Some(link) = link.filter(|_| is_set) else { continue };
        if let (Some(host), Some(port)) = (link.host_str(), link.port_or_known_default()) {
            let (host, is_vital) = (host.to_owned(), setting == "dispatch_url");
            peers.push(Peer { check, setting, host, port, meanwhile, is_vital });
        }
    }
    peers
}

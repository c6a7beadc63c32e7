//! Checks whether the servers in the settings accept connections: the mail server, the core, and the
//! destinations of notices and traces. Sends nothing.

use std::time::Duration;

use gancho_mail::smtp::{SmtpServer, TlsMode};
use tokio::{io::AsyncReadExt, net::TcpStream, time::timeout};
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
    /// It speaks first.
    greets: bool,
}

pub async fn peers(report: &mut Report, loaded: &LoadedSettings) {
    for peer in named(loaded) {
        let Peer { check, setting, host, port, meanwhile, is_vital, greets } = &peer;
        // As in URLs, an IPv6 address is in brackets.
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let why = match try_peer(bare, *port, *greets).await {
            Ok(()) => {
                report.ok(check, format!("{host}:{port} accepts connections"));
                continue;
            }
            Err(why) => why,
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

async fn try_peer(host: &str, port: u16, greets: bool) -> Result<(), String> {
    let no_response = |_| "no response".to_owned();
    let connected = timeout(TIMEOUT, TcpStream::connect((host, port))).await;
    let mut stream = connected.map_err(no_response)?.map_err(|error| error.to_string())?;
    if !greets {
        return Ok(());
    }
    let mut line = [0; 128];
    let read = timeout(TIMEOUT, stream.read(&mut line)).await;
    let said = read.ok().and_then(Result::ok).map(|length| &line[..length]).unwrap_or_default();
    match String::from_utf8_lossy(said).lines().next() {
        Some(line) if line.starts_with("220") => Ok(()),
        Some(line) if !line.is_empty() => Err(format!("it says: {}", line.escape_debug())),
        _ => Err("it accepts connections, and does not greet as a mail server does".to_owned()),
    }
}

/// Returns the servers that somebody has configured.
fn named(loaded: &LoadedSettings) -> Vec<Peer> {
    let settings = &loaded.settings;
    let mut peers = Vec::new();
    let smtp = settings.smtp_url.as_ref();
    if let Some(Ok(server)) = smtp.map(|url| url.reveal().parse::<SmtpServer>()) {
        let SmtpServer { host, port, tls, .. } = server;
        let greets = tls != TlsMode::Wrapped;
        let meanwhile = "e-mails wait";
        let (check, setting, is_vital) = ("mail server", "smtp_url", true);
        peers.push(Peer { check, setting, host, port, meanwhile, is_vital, greets });
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
            peers.push(Peer { check, setting, host, port, meanwhile, is_vital, greets: false });
        }
    }
    peers
}

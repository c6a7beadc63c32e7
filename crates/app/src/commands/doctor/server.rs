//! Checks whether a gateway runs with these settings, and answers.

use std::{net::TcpListener, time::Duration};

use tokio::time::timeout;

use super::report::Report;
use crate::{
    gateway::has_role,
    operator_token,
    remote::{Remote, RemoteError},
    settings::{EmailVia, Role, Settings},
};

const TIMEOUT: Duration = Duration::from_secs(5);

pub async fn running(report: &mut Report, settings: &Settings) {
    const CHECK: &str = "server";
    let listen = settings.api_listen;
    let remote = Remote::open_to_all(listen);
    let Ok(ready) = timeout(TIMEOUT, remote.get("/readyz")).await else {
        return report.fail(
            CHECK,
            format!("what listens on {listen} (api_listen) does not respond"),
            "stop it, or choose another api_listen; of a gateway, read the log",
        );
    };
    match ready {
        Err(error) if error.is_unreachable() => {
            report.warn(
                CHECK,
                format!("no gateway is running on {listen} (api_listen)"),
                "start one with `gancho serve`",
            );
            ports(report, settings);
        }
        Ok(ready) if ready["checks"].is_object() => answered(report, settings, true).await,
        Err(RemoteError::NotGancho { status, .. }) if status.as_u16() == 503 => {
            answered(report, settings, false).await;
        }
        Ok(_) | Err(_) => report.fail(
            CHECK,
            format!("what listens on {listen} (api_listen) is not a gateway"),
            "stop it, or choose another api_listen",
        ),
    }
}

/// Checks whether a gateway could listen. A running one has the ports.
fn ports(report: &mut Report, settings: &Settings) {
    let api = (settings.api_listen, "api_listen");
    let ingest = (settings.ingest_listen, "ingest_listen");
    let ingest = has_role(settings, Role::Ingest).then_some(ingest);
    for (address, setting) in std::iter::once(api).chain(ingest) {
        if let Err(error) = TcpListener::bind(address) {
            report.fail(
                "ports",
                format!("cannot listen on {address} ({setting}): {error}"),
                &format!("stop what listens there, or choose another {setting}"),
            );
        }
    }
}

/// Checks whether e-mails with notices can be sent.
pub fn notices(report: &mut Report, settings: &Settings) {
    const CHECK: &str = "notices";
    if settings.notify_emails.is_empty() {
        return;
    }
    match settings.email_transport() {
        EmailVia::Smtp | EmailVia::Ses => {
            report.ok(CHECK, format!("e-mails go to {}", settings.notify_emails.join(", ")));
        }
        EmailVia::Off | EmailVia::Sink => report.warn(
            CHECK,
            "notify_emails is set, but e-mail is not sent",
            "set email_via to smtp or ses, with its settings",
        ),
    }
}

async fn answered(report: &mut Report, settings: &Settings, is_ready: bool) {
    const CHECK: &str = "server";
    let listen = settings.api_listen;
    if !is_ready {
        return report.fail(
            CHECK,
            format!("the gateway on {listen} is not ready"),
            "read its log; /readyz says which part",
        );
    }
    let Ok(Some(token)) = operator_token::find(settings) else {
        return report.warn(
            CHECK,
            format!("a gateway runs on {listen}, with another data directory"),
            "select its own with --data-dir",
        );
    };
    match Remote::at(listen, token).get("/v1/queues").await {
        Ok(queues) => {
            let pending: u64 = queues["data"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|lane| lane["depth"].as_u64())
                .sum();
            report.ok(
                CHECK,
                format!("the gateway on {listen} is ready; {pending} deliveries are waiting"),
            );
        }
        Err(error) => report.warn(
            CHECK,
            format!("a gateway runs on {listen}, and refuses this token: {error}"),
            "it has another data directory or admin_token; select it with --data-dir",
        ),
    }
}

//! Measures e-mails: submits them over HTTP to `gancho serve` in a separate process, until a mail server on
//! this machine has all of them and the tenant has received all events.

mod server;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::ensure;
use clap::Args;
use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;

use self::server::Server;
use super::{
    child::Child,
    http_connection::HttpConnection,
    place,
    sink::{Sink, SinkBehavior},
};

/// Send e-mails through a local SMTP server without rate limits. Load, mail server and receiver run in
/// this process; CPU figures are those of the gateway.
#[derive(Debug, Args)]
pub struct MailBench {
    /// Database: sqlite:PATH or postgres://… Default: a new SQLite file in a temporary directory.
    #[arg(long, env = "GANCHO_DATABASE_URL")]
    database_url: Option<String>,
    /// Number of e-mails.
    #[arg(long, default_value_t = 10_000)]
    emails: usize,
    /// Number of connections. Each submits its next e-mail after the response to the previous one.
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Maximum number of connections to the mail server.
    #[arg(long, default_value_t = 32)]
    concurrency: u32,
    /// Size of the text in bytes.
    #[arg(long, default_value_t = 1_024)]
    body: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The field that has the number of an e-mail in events about it.
const NUMBERED: &str = "\"externalId\":\"n-";
/// Maximum time to wait for the next arrival.
const TIMEOUT: Duration = Duration::from_secs(20);

impl MailBench {
    pub async fn run(self) -> anyhow::Result<()> {
        let (url, folder) = place::database(self.database_url.as_deref())?;
        let tasks = TaskTracker::new();
        let server = Server::start(&tasks).await?;
        let sink = Sink::start(self.emails, NUMBERED, &tasks).await?;
        let smtp = format!("smtp://{}?tls=none", server.address);
        let concurrency = self.concurrency.to_string();
        let variables = [
            ("GANCHO_SMTP_URL", smtp.as_str()),
            ("GANCHO_EMAIL_CONCURRENCY", &concurrency),
            ("GANCHO_EMAIL_RATE", "none"),
        ];
        let gateway = Child::start(&url, folder.path(), &variables).await?;
        let key = gateway.tenant("bench", &sink.url(SinkBehavior::Answers), "email.*").await?;

        let watch = gateway.watch();
        self.submit(gateway.address, &key).await?;
        watch.report("e-mails submitted", self.emails as u64, self.json);
        server.arrived(self.emails, TIMEOUT).await?;
        watch.report("e-mails received by the mail server", self.emails as u64, self.json);
        sink.arrived(self.emails, TIMEOUT).await?;
        watch.report("outcomes reported by webhook", self.emails as u64, self.json);
        gateway.stop().await
    }

    async fn submit(&self, api: SocketAddr, key: &str) -> anyhow::Result<()> {
        let mut senders = JoinSet::new();
        let text: Arc<str> = "x".repeat(self.body).into();
        for sender in 0..self.connections {
            let (key, text) = (key.to_owned(), text.clone());
            let turns = (sender..self.emails).step_by(self.connections);
            senders.spawn(async move {
                let mut line = HttpConnection::open(api).await?;
                for number in turns {
                    let email = serde_json::json!({
                        "from": "bench@example.com",
                        "to": format!("reader-{number}@example.net"),
                        "subject": format!("E-mail {number}"),
                        "text": &*text,
                        // The receiver identifies it by this.
                        "externalId": format!("n-{number}"),
                    });
                    let body = email.to_string();
                    let (status, answer) =
                        line.post("/v1/email/send", &key, body.as_bytes()).await?;
                    ensure!(
                        status == 201,
                        "answered {status}: {}",
                        String::from_utf8_lossy(&answer)
                    );
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = senders.join_next().await {
            done??;
        }
        Ok(())
    }
}

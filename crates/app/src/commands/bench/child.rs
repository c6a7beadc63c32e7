//! The gateway as a child process, with the operator's calls that set it up.

use std::{
    net::SocketAddr,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process,
    task::JoinSet,
};

use super::{
    http_connection::HttpConnection,
    report::{self, Stopwatch},
};

const TOKEN: &str = "bench-operator-token-0123456789abcdef";
const TO_START: Duration = Duration::from_secs(30);

pub struct Child {
    pub address: SocketAddr,
    /// Where partners post.
    pub ingest: SocketAddr,
    process: process::Child,
    id: u32,
    /// Reads what the gateway logs: a full pipe would stop it.
    _log: JoinSet<()>,
}

impl Child {
    /// Starts a gateway with these variables in addition to the usual ones.
    pub async fn start(
        database_url: &str,
        folder: &Path,
        variables: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        let mut process = process::Command::new(std::env::current_exe()?)
            .arg("serve")
            .env_clear()
            .env("GANCHO_ADMIN_TOKEN", TOKEN)
            .env("GANCHO_DATA_DIR", folder)
            .env("GANCHO_DATABASE_URL", database_url)
            .env("GANCHO_API_LISTEN", "127.0.0.1:0")
            .env("GANCHO_INGEST_LISTEN", "127.0.0.1:0")
            .env("GANCHO_ALLOW_HTTP", "true")
            .env("GANCHO_ALLOW_CIDRS", "127.0.0.0/8")
            .env("GANCHO_LOG_FORMAT", "json")
            .envs(variables.iter().copied())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let id = process.id().context("the gateway has no process id")?;
        let mut log = BufReader::new(process.stderr.take().context("no log")?).lines();
        let until = Instant::now() + TO_START;
        let mut said = String::new();
        while let Ok(Ok(Some(line))) = tokio::time::timeout_at(until.into(), log.next_line()).await
        {
            let line: Value = serde_json::from_str(&line).unwrap_or(Value::String(line));
            if line["message"] == "gancho is ready" {
                let at =
                    |name: &str| anyhow::Ok(line[name].as_str().context("no address")?.parse()?);
                let (address, ingest) = (at("api")?, at("ingest")?);
                let mut reading = JoinSet::new();
                reading.spawn(async move { while let Ok(Some(_)) = log.next_line().await {} });
                return Ok(Self { address, ingest, process, id, _log: reading });
            }
            said = line.to_string();
        }
        anyhow::bail!("the gateway did not start; it last said {said}")
    }

    /// Returns the operator's token.
    pub const fn token() -> &'static str {
        TOKEN
    }

    /// Returns the header that authenticates the operator.
    pub fn operator() -> String {
        format!("authorization: Bearer {TOKEN}")
    }

    /// Creates a tenant with a key, which it returns as a header, and an endpoint for these events.
    pub async fn tenant(&self, slug: &str, url: &str, events: &str) -> anyhow::Result<String> {
        let bearer = Self::operator();
        let slug = format!("{slug}-{}", self.id);
        self.call("POST", "/v1/tenants", &bearer, &json!({"slug": slug})).await?;
        let made =
            self.call("POST", &format!("/v1/tenants/{slug}/api-keys"), &bearer, &json!({})).await?;
        let key = format!("x-api-key: {}", made["key"].as_str().context("no key")?);
        self.call("POST", "/v1/webhooks", &key, &json!({"url": url, "events": [events]})).await?;
        Ok(key)
    }

    /// Creates a partner with a key, whose webhooks are dispatched to that URL.
    pub async fn source(&self, partner: &str, secret: &str, url: &str) -> anyhow::Result<()> {
        let bearer = Self::operator();
        self.call("POST", "/v1/sources", &bearer, &json!({"partner": partner, "target_url": url}))
            .await?;
        let key = json!({"scheme": "hmac", "secret": secret});
        self.call("PUT", &format!("/v1/sources/{partner}/keys/k1"), &bearer, &key).await?;
        Ok(())
    }

    /// Returns the bytes that it has written to a disk so far.
    pub fn written(&self) -> u64 {
        let counters = std::fs::read_to_string(format!("/proc/{}/io", self.id)).unwrap_or_default();
        let line = counters.lines().find_map(|line| line.strip_prefix("write_bytes: "));
        line.and_then(|count| count.parse().ok()).unwrap_or(0)
    }

    async fn call(
        &self,
        method: &str,
        path: &str,
        header: &str,
        body: &Value,
    ) -> anyhow::Result<Value> {
        let mut line = HttpConnection::open(self.address).await?;
        let (status, answer) = line.send(method, path, header, body.to_string().as_bytes()).await?;
        ensure!(status < 300, "{path} answered {status}: {}", String::from_utf8_lossy(&answer));
        Ok(serde_json::from_slice(&answer)?)
    }

    pub fn watch(&self) -> Stopwatch {
        Self::watch_all(std::slice::from_ref(self))
    }

    pub fn watch_all(nodes: &[Self]) -> Stopwatch {
        Stopwatch::of(nodes.iter().map(|node| report::Process::Other(node.id)).collect())
    }

    /// Makes a schema of the gateway's own database a cell.
    pub async fn cell(&self, name: &str, url: &str) -> anyhow::Result<()> {
        let cell = json!({"name": name, "url": url});
        self.call("POST", "/v1/cells", &Self::operator(), &cell).await.map(|_| ())
    }

    /// Returns the CPU time so far.
    pub fn cpu(&self) -> Duration {
        report::Process::Other(self.id).cpu()
    }

    /// Returns the highest resident memory so far, in MiB.
    pub fn peak_memory(&self) -> u64 {
        report::Process::Other(self.id).peak_memory()
    }

    /// Kills it at once, because what it has in flight and in its database does not matter any more.
    pub async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.process.kill().await?)
    }

    /// Stops it as a supervisor would.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        process::Command::new("kill").arg(self.id.to_string()).status().await?;
        let ended = tokio::time::timeout(TO_START, self.process.wait()).await??;
        ensure!(ended.success(), "the gateway ended with {ended}");
        Ok(())
    }
}

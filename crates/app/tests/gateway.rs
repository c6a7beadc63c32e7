//! `gancho serve` as a child process, and the calls of an operator and a tenant.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use gancho_testkit::until;
use serde_json::Value;

use crate::{
    http::{self, Answer},
    pipe_process::GANCHO,
};

pub const TOKEN: &str = "outside-admin-token-0123456789";

pub struct Gateway {
    pub address: SocketAddr,
    /// The address that partners post to.
    pub ingest: Option<SocketAddr>,
    pub log: Arc<Mutex<String>>,
    child: Child,
}

/// Returns the command with only the settings of the tests: no settings of the machine reach it.
pub fn command(arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(GANCHO);
    command.args(arguments).current_dir(folder).env_clear();
    #[expect(clippy::disallowed_methods, reason = "handed on to the gateway under test")]
    command.env("PATH", std::env::var("PATH").unwrap());
    command.env("GANCHO_DATA_DIR", folder.join("data"));
    command.env("GANCHO_API_LISTEN", "127.0.0.1:0");
    command.env("GANCHO_INGEST_LISTEN", "127.0.0.1:0");
    command.env("GANCHO_INGEST_LISTEN", "127.0.0.1:0");
    command.env("GANCHO_LOG_FORMAT", "json");
    command.env("GANCHO_ADMIN_TOKEN", TOKEN);
    command.env("GANCHO_ALLOW_HTTP", "true");
    command.env("GANCHO_ALLOW_CIDRS", "127.0.0.0/8");
    command.env("RUST_BACKTRACE", "0");
    command
}

impl Gateway {
    pub fn start(folder: &Path, variables: &[(&str, &str)]) -> Self {
        let mut command = command(&["serve"], folder);
        command.envs(variables.iter().copied());
        Self::of(command)
    }

    pub fn of(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let log = Arc::new(Mutex::new(String::new()));
        let (heard, (ready, is_ready)) = (log.clone(), mpsc::channel());
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if let Ok(line) = serde_json::from_str::<Value>(&line)
                    && line["message"] == "gancho is ready"
                {
                    let at = |name: &str| line[name].as_str().map(|at| at.parse().unwrap());
                    let _ = ready.send((at("api").unwrap(), at("ingest")));
                }
                let mut log = heard.lock().unwrap();
                log.push_str(&line);
                log.push('\n');
            }
        });
        let Ok((address, ingest)) = is_ready.recv_timeout(Duration::from_secs(30)) else {
            let _ = child.kill();
            panic!("it did not get ready: {}", log.lock().unwrap());
        };
        Self { address, ingest, log, child }
    }

    /// Returns the address that partners post to.
    pub fn ingest(&self) -> SocketAddr {
        let mut ingest = None;
        until("it says where partners post to", || {
            let log = self.log.lock().unwrap().clone();
            let mut lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let ready = lines.find(|line| line["message"] == "gancho is ready");
            ingest = ready.map(|ready| ready["ingest"].as_str().unwrap().parse().unwrap());
            ingest.is_some()
        });
        ingest.unwrap()
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Returns its exit status, which must come in time.
    pub fn ended(mut self, within: Duration) -> (ExitStatus, String) {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                let log = self.log.lock().unwrap().clone();
                return (status, log);
            }
            if started.elapsed() > within {
                let _ = self.child.kill();
                panic!("still running after {within:?}: {}", self.log.lock().unwrap());
            }
            // Sleeps until the process ends, and no longer than it may.
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Stops it as a supervisor would.
    pub fn stop(self) -> String {
        self.signal("TERM");
        let (status, log) = self.ended(Duration::from_secs(30));
        assert!(status.success(), "{status}: {log}");
        log
    }

    pub fn operator(&self, method: &str, path: &str, body: &str) -> Answer {
        let bearer = format!("Bearer {TOKEN}");
        http::call(self.address, method, path, &[("authorization", &bearer)], body)
    }

    /// Calls as the operator, acting for a tenant.
    pub fn acting(&self, tenant: &str, method: &str, path: &str, body: &str) -> Answer {
        let bearer = format!("Bearer {TOKEN}");
        let headers = [("authorization", bearer.as_str()), ("x-tenant", tenant)];
        http::call(self.address, method, path, &headers, body)
    }

    pub fn alerts(&self) -> Vec<Value> {
        let listed = self.operator("GET", "/v1/alerts", "");
        assert_eq!(listed.status, 200, "{}", listed.body);
        listed.json()["data"].as_array().unwrap().clone()
    }

    pub fn is_firing(&self, rule: &str) -> bool {
        self.alerts().iter().any(|alert| alert["rule"] == rule && alert["state"] == "firing")
    }

    /// Creates a tenant with a key of all scopes.
    pub fn tenant(&self, slug: &str) -> String {
        let made = self.operator("POST", "/v1/tenants", &format!(r#"{{"slug":"{slug}"}}"#));
        assert_eq!(made.status, 201, "{}", made.body);
        let key = self.operator("POST", &format!("/v1/tenants/{slug}/api-keys"), "{}");
        assert_eq!(key.status, 201, "{}", key.body);
        key.json()["key"].as_str().unwrap().to_owned()
    }

    pub fn endpoint(&self, key: &str, url: &str) -> Value {
        let body = format!(r#"{{"url":"{url}","events":["*"]}}"#);
        let made = http::call(self.address, "POST", "/v1/webhooks", &[("x-api-key", key)], &body);
        assert_eq!(made.status, 201, "{}", made.body);
        made.json()
    }

    /// Creates a partner whose webhooks are dispatched to that URL, with the key `k1`.
    pub fn source(&self, partner: &str, secret: &str, url: &str) {
        let body = format!(r#"{{"partner":"{partner}","target_url":"{url}"}}"#);
        let made = self.operator("POST", "/v1/sources", &body);
        assert_eq!(made.status, 201, "{}", made.body);
        let body = format!(r#"{{"scheme":"hmac","secret":"{secret}"}}"#);
        let path = format!("/v1/sources/{partner}/keys/k1");
        let put = self.operator("PUT", &path, &body);
        assert!(put.status < 300, "{}", put.body);
    }

    /// Makes the partner send a test event, and returns its receipt.
    pub fn simulate(&self, partner: &str) -> String {
        let body = format!(r#"{{"partner":"{partner}"}}"#);
        let bearer = format!("Bearer {TOKEN}");
        let headers = [("authorization", bearer.as_str())];
        let sent = http::call(self.ingest.unwrap(), "POST", "/webhooks/_simulate", &headers, &body);
        assert_eq!(sent.status, 200, "{}", sent.body);
        sent.json()["answer"]["receipt"].as_str().expect("a receipt").to_owned()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn publish(&self, key: &str, event_type: &str, data: &str) -> String {
        let body = format!(r#"{{"type":"{event_type}","data":{data}}}"#);
        let made = http::call(self.address, "POST", "/v1/events", &[("x-api-key", key)], &body);
        assert_eq!(made.status, 202, "{}", made.body);
        made.json()["id"].as_str().unwrap().to_owned()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

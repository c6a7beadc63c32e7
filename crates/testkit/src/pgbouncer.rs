//! A pgbouncer in transaction mode for tests, in front of a PostgreSQL server on the loopback interface.
//!
//! It ends when the process ends, even by a crash, as the server does: a small shell waits for the end of a
//! pipe.

use std::{
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use tokio_postgres::{Config, config::Host};

use crate::postgres::{at, give_to_server, is_root};

/// Fewer than a node has connections, so that nodes share them.
const CONNECTIONS: u16 = 6;
const MAX_WAIT: Duration = Duration::from_secs(10);

pub struct PgBouncer {
    folder: TempDir,
    port: u16,
    shell: Option<Child>,
}

impl PgBouncer {
    /// Starts a pooler in front of the server of this URL, whose role is `postgres`.
    pub fn start(server: &str) -> Result<Self> {
        let server: Config = server.parse()?;
        let [Host::Tcp(host)] = server.get_hosts() else { bail!("one host is needed") };
        let server_port = server.get_ports().first().copied().unwrap_or(5432);
        let folder = tempfile::Builder::new().prefix("gancho-pgbouncer-").tempdir()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let (users, config) = (folder.path().join("users"), folder.path().join("config"));
        std::fs::write(&users, "\"postgres\" \"\"\n")?;
        std::fs::write(
            &config,
            format!(
                "[databases]
* = host={host} port={server_port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {}
pool_mode = transaction
default_pool_size = {CONNECTIONS}
max_client_conn = 1000
server_login_retry = 1
",
                users.display()
            ),
        )?;
        for path in [folder.path(), &users, &config] {
            give_to_server(path)?;
        }
        let mut pgbouncer = Self { folder, port, shell: None };
        pgbouncer.start_again()?;
        Ok(pgbouncer)
    }

    /// Returns the URL of the same database through the pooler.
    pub fn url(&self, database: &str) -> String {
        let server = format!("postgres://postgres@127.0.0.1:{}/x?sslmode=disable", self.port);
        at(&server, database)
    }

    /// Stops it as a crash would.
    pub fn stop_at_once(&mut self) {
        if let Some(mut shell) = self.shell.take() {
            drop(shell.stdin.take());
            let _ = shell.wait();
        }
    }

    /// Restarts it on the same port.
    pub fn start_again(&mut self) -> Result<()> {
        let mut shell = Command::new("sh");
        shell.args(["-c", SHELL, "sh"]).arg(self.folder.path().join("config"));
        // It refuses to run as root.
        shell.args(if is_root() { &["-u", "postgres"][..] } else { &[] });
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        self.shell = Some(shell.spawn()?);
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if started.elapsed() > MAX_WAIT {
                bail!("pgbouncer does not start: install the package pgbouncer");
            }
            // Sleeps until it listens.
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        self.stop_at_once();
    }
}

const SHELL: &str = r#"
trap '' INT TERM HUP
config=$1; shift
PATH=$PATH:/usr/sbin
pgbouncer -q "$@" "$config" < /dev/null &
cat > /dev/null
kill -9 $!
"#;

/// Returns the pooler that the tests of this process share, in front of the server of this URL.
pub fn shared(server: &str) -> Result<&'static PgBouncer> {
    static SHARED: std::sync::OnceLock<Result<PgBouncer, String>> = std::sync::OnceLock::new();
    SHARED
        .get_or_init(|| PgBouncer::start(server).map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow::anyhow!("{error}"))
        .context("starting pgbouncer")
}

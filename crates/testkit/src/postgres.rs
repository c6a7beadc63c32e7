//! A PostgreSQL server for tests, and databases on it.
//!
//! With `DATABASE_URL` set, databases are created on that server. Otherwise the tests of one process share a
//! server, on a free loopback port, in a temporary directory. It ends when the process ends, even by a crash:
//! a small shell holds the other end of a pipe, and when the pipe closes it stops the server and removes the
//! directory.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, bail};
pub use tokio_postgres::{Client, Error};
use tokio_postgres::{Config, NoTls};

/// A server that this process started.
pub struct Postgres {
    folder: PathBuf,
    binaries: PathBuf,
    port: u16,
    settings: String,
    was_frozen: OnceLock<()>,
    /// Its standard input is the pipe.
    leash: Child,
}

impl Postgres {
    /// Returns the server that all tests of this process share.
    pub fn shared() -> Result<&'static Self> {
        static SHARED: OnceLock<Result<Postgres, String>> = OnceLock::new();
        SHARED
            .get_or_init(|| Self::start(&[]).map_err(|error| format!("{error:#}")))
            .as_ref()
            .map_err(|error| anyhow::anyhow!("{error}"))
    }

    /// Starts another server, for a test that stops it or needs other settings, such as `fsync=off`.
    pub fn start(settings: &[&str]) -> Result<Self> {
        Self::start_in(folder()?, settings)
    }

    /// Starts a server that accepts TLS, with a certificate and its key in PEM.
    pub fn start_with_tls(certificate: &str, key: &str) -> Result<Self> {
        let folder = folder()?;
        for (name, content) in [("server.crt", certificate), ("server.key", key)] {
            let path = folder.join(name);
            std::fs::write(&path, content)?;
            // The server refuses a key that others can read.
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
            give_to_server(&path)?;
        }
        // Relative to the data directory.
        Self::start_in(
            folder,
            &["ssl=on", "ssl_cert_file=../server.crt", "ssl_key_file=../server.key"],
        )
    }

    fn start_in(folder: PathBuf, settings: &[&str]) -> Result<Self> {
        let server = Self::stopped(folder, settings)?;
        let data = server.data();
        server.run("initdb", &["-D", &data, "-A", "trust", "-U", "postgres", "--no-sync"])?;
        server.start_again()?;
        Ok(server)
    }

    /// Starts a standby that follows this server. Commits do not wait for it yet.
    pub fn start_standby(&self) -> Result<Self> {
        let standby = Self::stopped(folder()?, &[])?;
        let (port, data) = (self.port.to_string(), standby.data());
        // `-R` writes the address of its primary.
        let copy = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-D", &data, "-R"];
        standby.run("pg_basebackup", &[&copy[..], &["-c", "fast", "--no-sync"]].concat())?;
        standby.start_again()?;
        Ok(standby)
    }

    /// Makes the standby a primary.
    pub fn promote(&self) -> Result<()> {
        self.run("pg_ctl", &["-D", &self.data(), "-w", "promote"])
    }

    /// Creates a server without data, which is not started.
    fn stopped(folder: PathBuf, settings: &[&str]) -> Result<Self> {
        let binaries = binaries()?;
        let leash = leash(&binaries, &folder)?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut options = format!(
            "-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories= \
             -c fsync=on -c max_connections=200"
        );
        for setting in settings {
            options.push_str(" -c ");
            options.push_str(setting);
        }
        Ok(Self { folder, binaries, port, settings: options, was_frozen: OnceLock::new(), leash })
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Runs `kill -9` on all of its processes.
    pub fn kill(&self) -> Result<()> {
        self.signal("-9")
    }

    /// Makes it accept connections without answering, as if its disk hung.
    pub fn freeze(&self) -> Result<()> {
        let _ = self.was_frozen.set(());
        self.signal("-STOP")
    }

    pub fn unfreeze(&self) -> Result<()> {
        self.signal("-CONT")
    }

    fn signal(&self, signal: &str) -> Result<()> {
        let file = std::fs::read_to_string(self.folder.join("data/postmaster.pid"))?;
        let main = file.lines().next().context("an empty file of the server's process")?;
        let children = format!("/proc/{main}/task/{main}/children");
        let children = std::fs::read_to_string(children).unwrap_or_default();
        // The main process first, so that it starts no others.
        let all = [main].into_iter().chain(children.split_whitespace());
        let sent = Command::new("kill").arg(signal).args(all).status()?;
        anyhow::ensure!(sent.success(), "cannot send the server {signal}");
        Ok(())
    }

    /// Stops it as a crash would: no process survives, and nothing is flushed.
    pub fn stop_at_once(&self) -> Result<()> {
        self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "stop"])
    }

    /// Restarts it on the same port, with the same data.
    pub fn start_again(&self) -> Result<()> {
        let log = self.folder.join("log");
        let log = log.to_string_lossy();
        self.run(
            "pg_ctl",
            &["-D", &self.data(), "-l", &log, "-t", "60", "-w", "-o", &self.settings, "start"],
        )
        .with_context(|| std::fs::read_to_string(&*log).unwrap_or_default())
    }

    fn data(&self) -> String {
        self.folder.join("data").to_string_lossy().into_owned()
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<()> {
        let output = as_server(&self.binaries.join(program))
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("running {program}"))?;
        if !output.status.success() {
            bail!(
                "{program} failed: {}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // A test that failed may have left it frozen, and so it would not stop.
        if self.was_frozen.get().is_some() {
            let _ = self.unfreeze();
        }
        // The shell does the rest.
        drop(self.leash.stdin.take());
        let _ = self.leash.wait();
    }
}

/// A database for one test. It is deleted when dropped.
pub struct Database {
    server: String,
    name: String,
}

impl Database {
    pub fn url(&self) -> String {
        at(&self.server, &self.name)
    }

    /// Returns the URL of its server.
    pub fn server(&self) -> &str {
        &self.server
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a client of this database that does not use the store.
    pub async fn client(&self) -> Result<Client> {
        connect_to(&self.url()).await
    }

    /// Returns such a client with another role.
    pub async fn client_as(&self, role: &str) -> Result<Client> {
        let mut config: Config = self.url().parse()?;
        connect(config.user(role)).await
    }
}

pub async fn fresh_database() -> Result<Database> {
    #[expect(clippy::disallowed_methods, reason = "tests have no settings")]
    let server = match std::env::var("DATABASE_URL") {
        Ok(url) => url,
        Err(_) => Postgres::shared()?.url("postgres"),
    };
    fresh_database_on(&server).await
}

/// Creates a database on the server of this URL.
pub async fn fresh_database_on(server: &str) -> Result<Database> {
    #[expect(clippy::disallowed_methods, reason = "a name that no other run has")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
    let name = format!("gancho_test_{}_{now}", std::process::id());
    let admin = connect_to(server).await?;
    admin.batch_execute(&format!("create database {name}")).await.context("making a database")?;
    Ok(Database { server: server.to_owned(), name })
}

impl Drop for Database {
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        // A thread, because this may run inside a runtime. A stopped server no longer has the database.
        let dropped = std::thread::spawn(move || -> Result<()> {
            tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
                let client = connect_to(&server).await?;
                // A test may have left the server waiting for a standby that never comes.
                client.batch_execute("set synchronous_commit = local").await?;
                client.batch_execute(&format!("drop database {name} with (force)")).await?;
                Ok(())
            })
        });
        let _ = dropped.join();
    }
}

/// Connects to this URL.
pub async fn connect_to(url: &str) -> Result<Client> {
    connect(&url.parse()?).await
}

async fn connect(config: &Config) -> Result<Client> {
    let (client, connection) = config.connect(NoTls).await.context("connecting")?;
    tokio::spawn(connection);
    Ok(client)
}

/// Returns the same server's URL for another database.
pub(crate) fn at(server: &str, database: &str) -> String {
    let (head, options) =
        server.split_once('?').map_or((server, None), |(head, options)| (head, Some(options)));
    let authority = head.find("://").map_or(0, |place| place + 3);
    let end = head[authority..].find('/').map_or(head.len(), |place| authority + place);
    match options {
        Some(options) => format!("{}/{database}?{options}", &head[..end]),
        None => format!("{}/{database}", &head[..end]),
    }
}

fn binaries() -> Result<PathBuf> {
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        if path.join("initdb").exists() {
            return Ok(path);
        }
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut found: Vec<PathBuf> = versions
        .flatten()
        .map(|version| version.path().join("bin"))
        .filter(|path| path.join("initdb").exists())
        .collect();
    found.sort();
    found.pop().context(
        "no PostgreSQL server is installed: install the package postgresql, or set DATABASE_URL",
    )
}

/// Whether this process is root. The server refuses to run as root.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

fn as_server(program: &Path) -> Command {
    if is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(program);
        // The server's user may not have access to the current directory.
        command.current_dir("/");
        return command;
    }
    Command::new(program)
}

fn folder() -> Result<PathBuf> {
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix("gancho-postgres-");
    // The shell removes it, because this process may not live long enough.
    let folder = if has_room() { builder.tempdir_in(MEMORY)? } else { builder.tempdir()? }.keep();
    give_to_server(&folder)?;
    Ok(folder)
}

/// A directory in memory. Dropping a database syncs all files of the server, which on a disk takes most of
/// the time of many tests. Data in memory survives the server's processes, which is all that tests kill.
const MEMORY: &str = "/dev/shm";
/// As in `./test`: a container may have far less.
const MIN_KIB: u64 = 4_000_000;

fn has_room() -> bool {
    let free = Command::new("df").args(["--output=avail", MEMORY]).output();
    let text = free.map(|free| String::from_utf8_lossy(&free.stdout).into_owned());
    let free = text.ok().and_then(|text| text.lines().last()?.trim().parse::<u64>().ok());
    free.is_some_and(|free| free > MIN_KIB)
}

pub(crate) fn give_to_server(path: &Path) -> Result<()> {
    if is_root() {
        let owned = Command::new("chown").arg("postgres").arg(path).status()?;
        anyhow::ensure!(owned.success(), "cannot give {} away", path.display());
    }
    Ok(())
}

/// A script that waits for the end of this process. An interrupt from the keyboard reaches it too, and must
/// not end it before its work is done.
const LEASH: &str = r#"
trap '' INT TERM HUP
cat > /dev/null
if [ "$(id -u)" = 0 ]; then as="runuser -u postgres --"; fi
cd /
$as "$1/pg_ctl" -D "$2/data" -m immediate stop > /dev/null 2>&1
rm -rf "$2"
"#;

fn leash(binaries: &Path, folder: &Path) -> Result<Child> {
    let leash = Command::new("sh")
        .args(["-c", LEASH, "sh"])
        .arg(binaries)
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(leash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_for_another_database() {
        for (server, expected) in [
            ("postgres://u:p@h:5/a?sslmode=disable", "postgres://u:p@h:5/b?sslmode=disable"),
            ("postgres://h/a", "postgres://h/b"),
            ("postgres://h", "postgres://h/b"),
        ] {
            assert_eq!(at(server, "b"), expected);
        }
    }

    #[tokio::test]
    async fn a_database_comes_and_goes() {
        let database = fresh_database().await.unwrap();
        let client = database.client().await.unwrap();
        client.query_one("select 1", &[]).await.unwrap();
        let (server, name) = (database.server.clone(), database.name.clone());
        drop(database);
        let admin = connect_to(&server).await.unwrap();
        let sql = "select 1 from pg_database where datname = $1";
        assert!(admin.query_opt(sql, &[&name]).await.unwrap().is_none());
    }
}

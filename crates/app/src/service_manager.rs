//! Notifies the service manager (systemd) when the gateway is ready and when it stops, as `Type=notify`
//! expects. Without `NOTIFY_SOCKET` nothing is sent.

use std::{
    convert::Infallible,
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixDatagram},
    },
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

/// How much more time to start is requested, three times within it.
const MORE_TIME: Duration = Duration::from_secs(60);

/// Keeps the gateway in the starting state until dropped.
#[expect(dead_code, reason = "dropping it is what ends the thread")]
pub struct StartupGuard(mpsc::Sender<Infallible>);

pub struct ServiceManager {
    address: Option<SocketAddr>,
    watchdog: Option<Duration>,
}

impl ServiceManager {
    #[expect(clippy::disallowed_methods, reason = "systemd defines the names of these variables")]
    pub fn of_process() -> Self {
        let look = |name: &str| std::env::var(name).ok();
        let is_mine = |pid: String| pid.parse() == Ok(std::process::id());
        let watchdog = look("WATCHDOG_USEC").filter(|_| look("WATCHDOG_PID").is_none_or(is_mine));
        Self {
            address: look("NOTIFY_SOCKET").and_then(|path| address(&path)),
            watchdog: watchdog.and_then(|micros| micros.parse().ok()).map(Duration::from_micros),
        }
    }

    /// Requests more time to start, again and again until the result is dropped, because the migration of a
    /// large database has no fixed duration. Uses a separate thread, so that nothing blocks it.
    pub fn starting(&self) -> Option<StartupGuard> {
        let manager = Self { address: Some(self.address.clone()?), watchdog: None };
        let (ended, is_ended) = mpsc::channel::<Infallible>();
        let asking = thread::Builder::new().name("starting".to_owned()).spawn(move || {
            while is_ended.recv_timeout(MORE_TIME / 3) == Err(RecvTimeoutError::Timeout) {
                manager.send(&format!("EXTEND_TIMEOUT_USEC={}", MORE_TIME.as_micros()));
            }
        });
        asking.ok().map(|_| StartupGuard(ended))
    }

    pub fn ready(&self) {
        self.send("READY=1");
    }

    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    /// Reports regularly that the process works.
    pub async fn keep_alive(&self) -> Infallible {
        match self.watchdog {
            Some(interval) => loop {
                self.send("WATCHDOG=1");
                tokio::time::sleep(interval / 2).await;
            },
            None => std::future::pending().await,
        }
    }

    /// Sends a message. A service manager that cannot be reached must not stop the gateway.
    fn send(&self, state: &str) {
        if let Some(address) = &self.address
            && let Ok(socket) = UnixDatagram::unbound()
        {
            let _ = socket.send_to_addr(state.as_bytes(), address);
        }
    }
}

/// Parses a path, or the name of an abstract socket after an `@`.
fn address(path: &str) -> Option<SocketAddr> {
    match path.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name).ok(),
        None => SocketAddr::from_pathname(path).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_reach_the_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let manager = ServiceManager { address: address(path.to_str().unwrap()), watchdog: None };
        manager.ready();
        manager.stopping();
        let mut buffer = [0; 64];
        for expected in ["READY=1", "STOPPING=1"] {
            let length = socket.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], expected.as_bytes());
        }
        drop(socket);
        manager.ready();
    }
}

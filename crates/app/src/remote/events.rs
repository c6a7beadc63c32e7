//! An answer that has no end: server-sent events, one by one.

use std::{collections::VecDeque, pin::Pin};

use gancho_dashboard::event_stream::{EventReader, ServerEvent};
use http_body_util::{BodyExt, Limited};
use hyper::{Method, body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};

use super::{MAX_SIZE, Remote, RemoteError, TO_CONNECT};

/// A connection, which moves only while it is polled.
type Connection = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

pub struct RemoteEvents {
    connection: Option<Connection>,
    body: Incoming,
    reader: EventReader,
    waiting: VecDeque<ServerEvent>,
}

impl Remote {
    /// Opens a stream of events.
    pub async fn events(&self, path: &str) -> Result<RemoteEvents, RemoteError> {
        let stream = match timeout(TO_CONNECT, TcpStream::connect(self.address)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(RemoteError::Unreachable(error.to_string())),
            Err(_) => return Err(RemoteError::Unreachable("timed out".to_owned())),
        };
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))?;
        let request = self.request(Method::GET, path, None)?;
        let mut connection: Connection = Box::pin(connection);
        let mut is_open = true;
        let answer = async move { sender.send_request(request).await };
        tokio::pin!(answer);
        let response = loop {
            tokio::select! {
                response = &mut answer => break response.map_err(|error| broken(&error))?,
                _ = &mut connection, if is_open => is_open = false,
            }
        };
        let (status, body) = (response.status(), response.into_body());
        let mut events = RemoteEvents {
            connection: is_open.then_some(connection),
            body,
            reader: EventReader::default(),
            waiting: VecDeque::new(),
        };
        if status.is_success() {
            return Ok(events);
        }
        let problem = events.whole().await?;
        let problem: Value = serde_json::from_slice(&problem).unwrap_or_default();
        Err(RemoteError::refused(status, &problem))
    }
}

impl RemoteEvents {
    /// The next event; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<ServerEvent>, RemoteError> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            tokio::select! {
                frame = self.body.frame() => match frame {
                    Some(Ok(frame)) => {
                        let piece = frame.into_data().unwrap_or_default();
                        self.waiting.extend(self.reader.read(&piece));
                    }
                    Some(Err(error)) => return Err(broken(&error)),
                    None => return Ok(None),
                },
                () = moving(&mut self.connection) => self.connection = None,
            }
        }
    }

    /// The body of a refusal.
    async fn whole(&mut self) -> Result<bytes::Bytes, RemoteError> {
        let reading = Limited::new(&mut self.body, MAX_SIZE).collect();
        tokio::pin!(reading);
        loop {
            tokio::select! {
                read = &mut reading => {
                    let read = read.map_err(|error| RemoteError::Broken(error.to_string()))?;
                    return Ok(read.to_bytes());
                }
                () = moving(&mut self.connection) => self.connection = None,
            }
        }
    }
}

/// Returns when the connection has ended; never, if it had.
async fn moving(connection: &mut Option<Connection>) {
    match connection {
        Some(connection) => drop(connection.await),
        None => std::future::pending().await,
    }
}

fn broken(error: &hyper::Error) -> RemoteError {
    RemoteError::Broken(error.to_string())
}

//! An answer that has no end: server-sent events, one by one.

use std::collections::VecDeque;

use gancho_dashboard::event_stream::{EventReader, ServerEvent};
use http_body_util::{BodyExt, Limited};
use hyper::{Method, body::Incoming};
use serde_json::Value;
use tokio_util::task::AbortOnDropHandle;

use super::{MAX_SIZE, Remote, RemoteError, broken};

pub struct RemoteEvents {
    body: Incoming,
    reader: EventReader,
    waiting: VecDeque<ServerEvent>,
    _connection: AbortOnDropHandle<hyper::Result<()>>,
}

impl Remote {
    /// Opens a stream of events.
    pub async fn events(&self, path: &str) -> Result<RemoteEvents, RemoteError> {
        let (mut sender, connection) = self.connect().await?;
        let connection = AbortOnDropHandle::new(tokio::spawn(connection));
        let request = self.request(Method::GET, path, None)?;
        let response = sender.send_request(request).await.map_err(|error| broken(&error))?;
        let (status, body) = (response.status(), response.into_body());
        if status.is_success() {
            return Ok(RemoteEvents {
                body,
                reader: EventReader::default(),
                waiting: VecDeque::new(),
                _connection: connection,
            });
        }
        let problem = Limited::new(body, MAX_SIZE).collect().await;
        let problem = problem.map_err(|error| broken(&error))?.to_bytes();
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
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    let piece = frame.into_data().unwrap_or_default();
                    self.waiting.extend(self.reader.read(&piece));
                }
                Some(Err(error)) => return Err(broken(&error)),
                None => return Ok(None),
            }
        }
    }
}

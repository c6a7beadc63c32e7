//! Responses that are read piece by piece.

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::{Method, body::Incoming};

use super::{MAX_SIZE, Remote, RemoteError, connection::Connection};

pub struct RemoteStream {
    body: Incoming,
    remote: Remote,
    _connection: Connection,
}

impl Remote {
    /// Opens a response to be read piece by piece.
    pub async fn stream(&self, path: &str) -> Result<RemoteStream, RemoteError> {
        let request = self.request(Method::GET, path, None, None)?;
        let (response, connection) = self.send(request).await?;
        let (head, body) = response.into_parts();
        if head.status.is_success() {
            return Ok(RemoteStream { body, remote: self.clone(), _connection: connection });
        }
        let problem = Limited::new(body, MAX_SIZE).collect().await;
        let problem = problem.map_err(|error| self.interrupted(&error))?.to_bytes();
        Err(RemoteError::refused(self.server(), &head, &problem))
    }
}

impl RemoteStream {
    /// Returns the next piece; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, RemoteError> {
        match self.body.frame().await {
            Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
            Some(Err(error)) => Err(self.remote.interrupted(&error)),
            None => Ok(None),
        }
    }
}

//! Reads a response without an end: server-sent events, one by one.

use std::collections::VecDeque;

use gancho_dashboard::event_stream::{EventReader, ServerEvent};

use super::{Remote, RemoteError, stream::RemoteStream};

pub struct RemoteEvents {
    stream: RemoteStream,
    reader: EventReader,
    waiting: VecDeque<ServerEvent>,
}

impl Remote {
    /// Opens a stream of events.
    pub async fn events(&self, path: &str) -> Result<RemoteEvents, RemoteError> {
        let stream = self.stream(path).await?;
        Ok(RemoteEvents { stream, reader: EventReader::default(), waiting: VecDeque::new() })
    }
}

impl RemoteEvents {
    /// Returns the next event; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<ServerEvent>, RemoteError> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            match self.stream.next().await? {
                Some(piece) => self.waiting.extend(self.reader.read(&piece)),
                None => return Ok(None),
            }
        }
    }
}

//! The part of HTTP/2 that a script needs: it reads frames and sends any given frame.

use std::collections::VecDeque;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::receiver::RawStream;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;
const GREETING: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();

#[derive(Default)]
pub(crate) struct H2Connection {
    greeted: bool,
    /// Streams with a complete request and no response.
    open: VecDeque<u32>,
}

impl H2Connection {
    /// Reads until a request is complete, and returns its body.
    pub(crate) async fn read_request(&mut self, stream: &mut impl RawStream) -> Result<Vec<u8>> {
        if !self.greeted {
            stream.read_exact(&mut [0; GREETING]).await?;
            self.send(stream, SETTINGS, 0, false, &[]).await?;
            self.greeted = true;
        }
        let mut body = Vec::new();
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await?;
            let [a, b, c, kind, flags, id @ ..] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            stream.read_exact(&mut payload).await?;
            match kind {
                SETTINGS if flags & ACK == 0 => {
                    self.send(stream, SETTINGS, ACK, false, &[]).await?;
                }
                PING if flags & ACK == 0 => self.send(stream, PING, ACK, false, &payload).await?,
                DATA => body.extend_from_slice(&payload),
                _ => {}
            }
            if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
                self.open.push_back(u32::from_be_bytes(id));
                return Ok(body);
            }
        }
    }

    pub(crate) async fn answer(&mut self, stream: &mut impl RawStream, status: u16) -> Result<()> {
        // A literal field without indexing, whose name `:status` is in the static table.
        let mut payload = vec![0x08, 3];
        payload.extend_from_slice(status.to_string().as_bytes());
        self.send(stream, HEADERS, END_HEADERS | END_STREAM, true, &payload).await?;
        self.open.pop_front();
        Ok(())
    }

    pub(crate) async fn send(
        &mut self,
        stream: &mut impl RawStream,
        kind: u8,
        flags: u8,
        on_stream: bool,
        payload: &[u8],
    ) -> Result<()> {
        let id = if on_stream { self.open.front().copied().unwrap_or(1) } else { 0 };
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend_from_slice(&[kind, flags]);
        frame.extend_from_slice(&id.to_be_bytes());
        frame.extend_from_slice(payload);
        stream.write_all(&frame).await?;
        stream.flush().await?;
        Ok(())
    }
}

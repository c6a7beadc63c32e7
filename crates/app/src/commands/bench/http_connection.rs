//! A persistent connection with one request after the other. Minimal, so that the load uses little of the
//! machine that it measures.

use std::{io::Write, net::SocketAddr};

use anyhow::{Context, ensure};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

pub struct HttpConnection {
    stream: TcpStream,
    host: SocketAddr,
    out: Vec<u8>,
    /// The part of the response that was received.
    came: Vec<u8>,
}

impl HttpConnection {
    pub async fn open(host: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, host, out: Vec::new(), came: Vec::with_capacity(4_096) })
    }

    pub async fn post(
        &mut self,
        path: &str,
        header: &str,
        body: &[u8],
    ) -> anyhow::Result<(u16, Vec<u8>)> {
        self.send("POST", path, header, body).await
    }

    /// Sends a request. Returns the status and the body of the response.
    pub async fn send(
        &mut self,
        method: &str,
        path: &str,
        header: &str,
        body: &[u8],
    ) -> anyhow::Result<(u16, Vec<u8>)> {
        self.out.clear();
        write!(
            self.out,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\n{header}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.host,
            body.len()
        )?;
        self.out.extend_from_slice(body);
        self.stream.write_all(&self.out).await?;
        self.came.clear();
        let end = loop {
            self.more().await?;
            if let Some(end) = self.came.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let (status, length) = head(&self.came[..end])?;
        while self.came.len() < end + length {
            self.more().await?;
        }
        Ok((status, self.came[end..end + length].to_vec()))
    }

    async fn more(&mut self) -> anyhow::Result<()> {
        let read = self.stream.read_buf(&mut self.came).await?;
        ensure!(read > 0, "the connection was closed");
        Ok(())
    }
}

/// Parses the status, and the length of the body.
fn head(text: &[u8]) -> anyhow::Result<(u16, usize)> {
    let text = std::str::from_utf8(text)?;
    let status = text.get(9..12).context("no status")?.parse()?;
    Ok((status, content_length(text)?.unwrap_or(0)))
}

/// Returns the length of the body by the head of a request or a response.
pub fn content_length(head: &str) -> anyhow::Result<Option<usize>> {
    let length = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse())
    });
    Ok(length.transpose()?)
}

//! A browser, as far as a measurement needs one: a session, and how long pages take.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, ensure};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::Instant,
};

use crate::commands::bench::{child::Child, http_connection::content_length};

pub struct Browser {
    address: SocketAddr,
    cookie: String,
}

/// How long a page took.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageTime {
    pub first_byte: Duration,
    pub whole: Duration,
    pub bytes: usize,
}

impl Browser {
    pub async fn sign_in(address: SocketAddr) -> anyhow::Result<Self> {
        let body = format!("name=&token={}", Child::token());
        let mut stream = TcpStream::connect(address).await?;
        let request = format!(
            "POST /ui/login HTTP/1.1\r\nhost: {address}\r\nsec-fetch-site: same-origin\r\n\
             content-type: application/x-www-form-urlencoded\r\nconnection: close\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        let answer = String::from_utf8_lossy(&answer);
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = cookie.and_then(|cookie| cookie.split(';').next());
        let cookie = cookie.context("the dashboard did not sign in")?.to_owned();
        Ok(Self { address, cookie })
    }

    /// Loads a page on a connection of its own.
    pub async fn load(&self, path: &str) -> anyhow::Result<PageTime> {
        let mut stream = self.connect().await?;
        let start = Instant::now();
        stream.write_all(self.request(path).as_bytes()).await?;
        let mut came = Vec::with_capacity(64 * 1024);
        let mut first_byte = None;
        let (head, length) = loop {
            ensure!(stream.read_buf(&mut came).await? > 0, "{path}: the connection was closed");
            first_byte.get_or_insert_with(|| start.elapsed());
            if let Some(end) = came.windows(4).position(|four| four == b"\r\n\r\n") {
                let text = std::str::from_utf8(&came[..end])?;
                ensure!(text.starts_with("HTTP/1.1 200"), "{path} answered {text}");
                break (end + 4, content_length(text)?.context("no length")?);
            }
        };
        while came.len() < head + length {
            ensure!(stream.read_buf(&mut came).await? > 0, "{path}: the connection was closed");
        }
        let first_byte = first_byte.unwrap_or_default();
        Ok(PageTime { first_byte, whole: start.elapsed(), bytes: came.len() })
    }

    /// Opens a stream, and returns it after its first piece.
    pub async fn open_stream(&self, path: &str) -> anyhow::Result<TcpStream> {
        let mut stream = self.connect().await?;
        stream.write_all(self.request(path).as_bytes()).await?;
        let mut came = [0; 1_024];
        let read = stream.read(&mut came).await?;
        let head = String::from_utf8_lossy(&came[..read]);
        ensure!(head.starts_with("HTTP/1.1 200"), "{path} answered {head}");
        Ok(stream)
    }

    async fn connect(&self) -> anyhow::Result<TcpStream> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn request(&self, path: &str) -> String {
        let (host, cookie) = (self.address, &self.cookie);
        format!(
            "GET {path} HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\naccept-language: en\r\n\r\n"
        )
    }
}

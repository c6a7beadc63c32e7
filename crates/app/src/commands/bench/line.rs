//! One connection that is kept, and requests on it one after the other. As little as will do, so that the
//! load takes little of the machine from what it measures.

use std::net::SocketAddr;

use anyhow::Context;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

pub struct Line {
    stream: BufReader<TcpStream>,
    host: SocketAddr,
    out: Vec<u8>,
    text: String,
}

impl Line {
    pub async fn open(host: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), host, out: Vec::new(), text: String::new() })
    }

    pub async fn post(
        &mut self,
        path: &str,
        header: &str,
        body: &[u8],
    ) -> anyhow::Result<(u16, Vec<u8>)> {
        self.send("POST", path, header, body).await
    }

    /// The status and the body of the answer.
    pub async fn send(
        &mut self,
        method: &str,
        path: &str,
        header: &str,
        body: &[u8],
    ) -> anyhow::Result<(u16, Vec<u8>)> {
        use std::io::Write;
        self.out.clear();
        write!(
            self.out,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\n{header}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.host,
            body.len()
        )?;
        self.out.extend_from_slice(body);
        self.stream.write_all(&self.out).await?;
        let status = self.read_line().await?.split(' ').nth(1).context("no status")?.parse()?;
        let mut length = 0;
        loop {
            let line = self.read_line().await?;
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer).await?;
        Ok((status, answer))
    }

    async fn read_line(&mut self) -> anyhow::Result<&str> {
        self.text.clear();
        let read = self.stream.read_line(&mut self.text).await?;
        anyhow::ensure!(read > 0, "the connection was closed");
        Ok(self.text.trim_end())
    }
}

//! Reads a live tail over a real connection, event by event.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::http::{Client, read};

/// Longer than anything in these tests takes.
const AMPLE: Duration = Duration::from_secs(30);

pub struct TailReader {
    stream: TcpStream,
    /// Text that has arrived and was not read yet, including chunk sizes.
    text: String,
    pub head: String,
}

#[derive(Debug, Clone)]
pub struct TailEvent {
    pub name: String,
    pub data: Value,
}

impl TailReader {
    /// Returns once the head of a successful response has arrived.
    pub async fn open(client: &Client, path: &str) -> Self {
        let mut stream = TcpStream::connect(client.address).await.unwrap();
        let mut request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n");
        for (name, value) in &client.headers {
            request.extend([name, ": ", value, "\r\n"]);
        }
        stream.write_all(format!("{request}\r\n").as_bytes()).await.unwrap();
        let mut reader = Self { stream, text: String::new(), head: String::new() };
        while !reader.text.contains("\r\n\r\n") {
            assert!(reader.fill().await, "{}", reader.text);
        }
        let end = reader.text.find("\r\n\r\n").unwrap() + 4;
        reader.head = reader.text.drain(..end).collect();
        let reply = read(reader.head.as_bytes()).unwrap_or_else(|| panic!("{}", reader.head));
        assert_eq!(reply.status, 200, "{}{}", reader.head, reader.text);
        reader
    }

    /// Returns the next event; `None` at the end of the response.
    pub async fn next(&mut self) -> Option<TailEvent> {
        loop {
            if let Some(event) = self.take() {
                return Some(event);
            }
            if self.text.contains("\r\n0\r\n\r\n") || !self.fill().await {
                return None;
            }
        }
    }

    /// Returns the next change of a delivery.
    pub async fn delivery(&mut self) -> Value {
        let event = self.next().await.expect("the tail goes on");
        assert_eq!(event.name, "delivery", "{event:?}");
        event.data
    }

    fn take(&mut self) -> Option<TailEvent> {
        let start = self.text.find("event: ")?;
        let end = start + self.text[start..].find("\n\n")?;
        let block: String = self.text[start..end].to_owned();
        self.text.drain(..end + 2);
        let (name, data) = block.split_once("\ndata: ").unwrap();
        let name = name.trim_start_matches("event: ").to_owned();
        Some(TailEvent { name, data: serde_json::from_str(data).unwrap() })
    }

    async fn fill(&mut self) -> bool {
        let mut bytes = [0; 4096];
        let count = timeout(AMPLE, self.stream.read(&mut bytes)).await.expect("it comes in time");
        let count = count.unwrap_or(0);
        self.text.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
        count > 0
    }
}

//! A client that sends its input byte for byte, and reads one response.

use std::{net::SocketAddr, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::contract;

/// Longer than anything in these tests takes.
const AMPLE: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub struct Client {
    pub address: SocketAddr,
    /// The headers of every request.
    pub headers: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.text()))
    }

    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the pointers of its errors.
    pub fn pointers(&self) -> Vec<String> {
        let errors = self.json()["errors"].as_array().cloned().unwrap_or_default();
        errors.iter().map(|error| error["pointer"].as_str().unwrap().to_owned()).collect()
    }

    #[track_caller]
    pub fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    /// Checks that it is a refusal with this code.
    #[track_caller]
    pub fn refused(self, status: u16, code: &str) -> Self {
        let reply = self.is(status);
        assert_eq!(reply.header("content-type"), Some("application/problem+json"));
        assert_eq!(reply.code(), code, "{}", reply.text());
        reply
    }

    /// Returns the body without the parts that differ from call to call.
    pub fn without_request_id(&self) -> Value {
        if self.body.is_empty() {
            return Value::Null;
        }
        let mut body = self.json();
        body.as_object_mut().map(|members| members.remove("request_id"));
        body
    }
}

impl Client {
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut other = self.clone();
        other.headers.push((name.to_owned(), value.to_owned()));
        other
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.call("GET", path, None).await
    }

    pub async fn delete(&self, path: &str) -> Reply {
        self.call("DELETE", path, None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.call("POST", path, Some(body)).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> Reply {
        self.call("PATCH", path, Some(body)).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Reply {
        self.call("PUT", path, Some(body)).await
    }

    pub async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        let bytes = body.map(|body| serde_json::to_vec(body).unwrap());
        self.send(method, path, &[("content-type", "application/json")], bytes.as_deref()).await
    }

    /// Sends a body of any bytes, with any headers.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Reply {
        let mut request = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n");
        let own = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in own.chain(headers.iter().copied()) {
            if name == "content-type" && body.is_none() {
                continue;
            }
            request.extend([name, ": ", value, "\r\n"]);
        }
        if let Some(body) = body {
            request.extend(["content-length: ", &body.len().to_string(), "\r\n"]);
        }
        request += "connection: close\r\n\r\n";
        let mut bytes = request.into_bytes();
        bytes.extend_from_slice(body.unwrap_or_default());
        let answer = exchange(self.address, &bytes).await;
        let reply = read(&answer).unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&answer)));
        contract::check(method, path, &reply);
        reply
    }
}

/// Sends bytes, and reads until the other side closes.
pub async fn exchange(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The other side may refuse and close before everything is sent.
    let _ = stream.write_all(bytes).await;
    read_all(&mut stream).await
}

pub async fn read_all(stream: &mut TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    let reading = async {
        // A connection may be reset after a response.
        while stream.read_buf(&mut answer).await.is_ok_and(|count| count > 0) {
            if is_endless(&answer) {
                break;
            }
        }
    };
    timeout(AMPLE, reading).await.expect("it answers in time");
    answer
}

/// Whether a response without an end has begun.
fn is_endless(answer: &[u8]) -> bool {
    read_head(answer).is_some_and(|reply| reply.header("content-type") == Some(EVENT_STREAM))
}

const EVENT_STREAM: &str = "text/event-stream";

/// Parses the bytes of one response. The body of an event stream, which never ends, is left out.
pub fn read(bytes: &[u8]) -> Option<Reply> {
    let mut reply = read_head(bytes)?;
    if reply.header("content-type") == Some(EVENT_STREAM) {
        reply.body.clear();
    } else if reply.header("transfer-encoding") == Some("chunked") {
        reply.body = unchunked(&reply.body)?;
    }
    Some(reply)
}

fn read_head(bytes: &[u8]) -> Option<Reply> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Some(Reply { status, headers, body: bytes[end + 4..].to_vec() })
}

fn unchunked(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).ok()?, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(bytes.get(end + 2..end + 2 + size)?);
        bytes = bytes.get(end + 4 + size..)?;
    }
}

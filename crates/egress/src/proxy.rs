//! The operator's HTTP proxy. It is never read from the environment.

use std::time::Duration;

use gancho_domain::Code;
use http::HeaderValue;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::{
    outcome::RequestError,
    url_policy::{Target, TargetHost},
};

#[derive(Debug, Clone)]
pub struct Proxy {
    pub host: String,
    pub port: u16,
    /// Sent as `Proxy-Authorization`.
    pub authorization: Option<HeaderValue>,
}

/// Maximum size of the response to CONNECT.
const MAX_HEAD_LENGTH: usize = 8 * 1024;

impl Proxy {
    /// Opens a tunnel to the target.
    pub(crate) async fn tunnel(
        &self,
        stream: &mut TcpStream,
        target: Target<'_>,
        within: Duration,
    ) -> Result<(), RequestError> {
        let failed =
            |why: String| RequestError::new(Code::CONNECT_FAILED, format!("the proxy {why}"));
        let head = self.ask(target);
        let exchange = async {
            stream.write_all(&head).await?;
            read_head(stream).await
        };
        match timeout(within, exchange).await {
            Ok(Ok(head)) => match status_of(&head) {
                Some(200..=299) => Ok(()),
                Some(status) => Err(failed(format!("answered {status} to CONNECT"))),
                None => Err(failed("did not respond with HTTP".to_owned())),
            },
            Ok(Err(error)) => Err(failed(format!("broke off: {error}"))),
            Err(_) => Err(failed("timed out".to_owned())),
        }
    }

    fn ask(&self, target: Target<'_>) -> Vec<u8> {
        let authority = match target.host {
            TargetHost::Name(name) => format!("{name}:{}", target.port),
            TargetHost::Address(judged) => judged.address().to_string(),
        };
        let mut head =
            format!("CONNECT {authority} HTTP/1.1\r\nhost: {authority}\r\n").into_bytes();
        if let Some(value) = &self.authorization {
            head.extend_from_slice(b"proxy-authorization: ");
            head.extend_from_slice(value.as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        head
    }
}

/// Reads the response byte by byte, so that nothing beyond it is read. This happens once per connection.
async fn read_head(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(256);
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == MAX_HEAD_LENGTH {
            return Err(std::io::Error::other("its response is too long"));
        }
        head.push(stream.read_u8().await?);
    }
    Ok(head)
}

fn status_of(head: &[u8]) -> Option<u16> {
    let rest = head.strip_prefix(b"HTTP/1.1 ").or_else(|| head.strip_prefix(b"HTTP/1.0 "))?;
    std::str::from_utf8(rest.get(..3)?).ok()?.parse().ok()
}

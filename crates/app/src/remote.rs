//! Talking to a gateway that runs, as the operator. It reaches the address of the settings and no
//! other: customers' URLs are for the client of `outbound`.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Method, Request, StatusCode,
    client::conn::http1,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue},
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};

use crate::settings::Hidden;

pub struct Remote {
    address: SocketAddr,
    token: Hidden,
}

#[derive(Debug)]
pub enum RemoteFault {
    /// Nobody listens there.
    Unreachable(String),
    /// Whoever listens there said no.
    Refused {
        status: StatusCode,
        detail: String,
    },
    Broken(String),
}

const TO_CONNECT: Duration = Duration::from_secs(3);
/// Sealing everything anew may take a while.
const TO_ANSWER: Duration = Duration::from_secs(3_600);
const LARGEST: usize = 4 << 20;

impl RemoteFault {
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }
}

impl fmt::Display for RemoteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "no gateway answers: {why}"),
            Self::Refused { status, detail } => {
                write!(f, "the gateway refused ({status}): {detail}")
            }
            Self::Broken(why) => write!(f, "the gateway's answer broke off: {why}"),
        }
    }
}

impl std::error::Error for RemoteFault {}

impl Remote {
    /// The gateway that listens there. On all addresses means on this machine's own too.
    pub fn at(listen: SocketAddr, token: Hidden) -> Self {
        let ip = match listen.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        Self { address: SocketAddr::new(ip, listen.port()), token }
    }

    pub async fn get(&self, path: &str) -> Result<Value, RemoteFault> {
        self.call(Method::GET, path, Bytes::new()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, RemoteFault> {
        self.call(Method::POST, path, Bytes::from(body.to_string())).await
    }

    async fn call(&self, method: Method, path: &str, body: Bytes) -> Result<Value, RemoteFault> {
        let broken = |error: &dyn fmt::Display| RemoteFault::Broken(error.to_string());
        let stream = match timeout(TO_CONNECT, TcpStream::connect(self.address)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(RemoteFault::Unreachable(error.to_string())),
            Err(_) => return Err(RemoteFault::Unreachable("no answer in time".to_owned())),
        };
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))?;
        let mut bearer = HeaderValue::try_from(format!("Bearer {}", self.token.reveal()))
            .map_err(|_| RemoteFault::Broken("the admin token cannot be sent".to_owned()))?;
        bearer.set_sensitive(true);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.address.to_string())
            .header(AUTHORIZATION, bearer)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|error| broken(&error))?;
        let exchange = async {
            let response = sender.send_request(request).await.map_err(|error| broken(&error))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), LARGEST).collect().await;
            Ok((status, body.map_err(|error| broken(&error))?.to_bytes()))
        };
        // The connection moves only while it is polled, and ends with the exchange.
        tokio::pin!(connection);
        let answered = async {
            tokio::pin!(exchange);
            tokio::select! {
                done = &mut exchange => done,
                _ = &mut connection => exchange.await,
            }
        };
        let (status, body) = timeout(TO_ANSWER, answered)
            .await
            .map_err(|_| RemoteFault::Broken("no answer in time".to_owned()))??;
        let value: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status.is_success() {
            return Ok(value);
        }
        let detail = value["detail"].as_str().unwrap_or("it gave no reason").to_owned();
        Err(RemoteFault::Refused { status, detail })
    }
}

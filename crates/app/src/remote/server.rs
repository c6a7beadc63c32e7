//! The address of a server: `https://gancho.example.com`, `http://127.0.0.1:3000`, or one below a path.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use url::{Host, Url};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl {
    pub is_tls: bool,
    pub host: Host<String>,
    pub port: u16,
    /// The path without a slash at its end; empty for most servers.
    base: String,
}

#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not the URL of a server. hint: for example, https://gancho.example.com or http://127.0.0.1:3000"
)]
pub struct ServerUrlError(String);

impl ServerUrl {
    /// Returns the address of a listener on this machine.
    pub fn at(listen: SocketAddr) -> Self {
        let host = match listen.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Host::Ipv4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Host::Ipv6(Ipv6Addr::LOCALHOST),
            IpAddr::V4(ip) => Host::Ipv4(ip),
            IpAddr::V6(ip) => Host::Ipv6(ip),
        };
        Self { is_tls: false, host, port: listen.port(), base: String::new() }
    }

    pub fn authority(&self) -> String {
        let usual = if self.is_tls { 443 } else { 80 };
        if self.port == usual {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Whether it is this machine.
    pub fn is_local(&self) -> bool {
        match &self.host {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(ip) => ip.is_loopback(),
            Host::Ipv6(ip) => ip.is_loopback(),
        }
    }

    /// Returns the path of an operation, below that of the server.
    pub fn path(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

impl FromStr for ServerUrl {
    type Err = ServerUrlError;

    fn from_str(text: &str) -> Result<Self, ServerUrlError> {
        let invalid = || ServerUrlError(text.chars().take(80).collect());
        let url = Url::parse(text).map_err(|_| invalid())?;
        let is_tls = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(invalid()),
        };
        let is_plain = url.username().is_empty() && url.password().is_none();
        if !is_plain || url.query().is_some() || url.fragment().is_some() {
            return Err(invalid());
        }
        let host = url.host().ok_or_else(invalid)?.to_owned();
        let port = url.port_or_known_default().ok_or_else(invalid)?;
        // The version is a part of every path, so one that was copied with the URL is dropped.
        let base = url.path().trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base).to_owned();
        Ok(Self { is_tls, host, port, base })
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_servers() {
        for (given, shown, path) in [
            ("https://gancho.example.com", "https://gancho.example.com", "/v1/a"),
            ("http://127.0.0.1:3000/", "http://127.0.0.1:3000", "/v1/a"),
            ("https://h:8443/hooks/v1/", "https://h:8443/hooks", "/hooks/v1/a"),
            ("http://[::1]:3000", "http://[::1]:3000", "/v1/a"),
        ] {
            let server: ServerUrl = given.parse().unwrap();
            assert_eq!((server.to_string().as_str(), server.path("/v1/a").as_str()), (shown, path));
            assert_eq!(shown.parse::<ServerUrl>().unwrap(), server);
        }
        for wrong in ["gancho.example.com", "ftp://a", "https://u:p@a", "http://a?b", "", "http://"]
        {
            assert!(wrong.parse::<ServerUrl>().is_err(), "{wrong}");
        }
        let all = ServerUrl::at("0.0.0.0:3000".parse().unwrap());
        assert_eq!(all.to_string(), "http://127.0.0.1:3000");
        assert!(all.is_local());
    }
}

//! Decides which URLs may be delivered to. The same function checks a URL when an endpoint is saved and
//! before each attempt, so that neither a changed setting nor an old row circumvents it.
//!
//! A URL is parsed once, by the rules that browsers follow (numbers such as `0x7f.1` become the address that
//! they represent). After that only the parsed parts are used.

use std::net::{IpAddr, SocketAddr};

use http::uri::PathAndQuery;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use thiserror::Error;
use url::{Host, Position, Url};

use crate::address::{AddressPolicy, AllowedAddress, BLOCKED};

/// Maximum length of a URL.
const MAX_LENGTH: usize = 2_048;

#[derive(Debug, Clone, Default)]
pub struct Policy {
    pub addresses: AddressPolicy,
    /// Allows `http://` for any address that may be reached.
    pub allow_http: bool,
    /// Allows loopback, over `http://` too. For development only.
    pub dev: bool,
    /// Names that may be used although they look private, including all their subdomains.
    pub allow_names: Vec<String>,
    /// Ports that may be used although they are on the list.
    pub allow_ports: Vec<u16>,
}

/// Why a URL may not be delivered to, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}. hint: {}", self.what(), self.hint())]
pub enum UrlError {
    NotAUrl(String),
    TooLong,
    Blanks,
    Scheme(String),
    PlainHttp,
    UserInfo,
    Fragment,
    Port(u16),
    Name(String),
    Address,
}

impl UrlError {
    pub fn what(&self) -> String {
        match self {
            Self::NotAUrl(why) => format!("not a URL: {why}"),
            Self::TooLong => format!("the URL is longer than {MAX_LENGTH} characters"),
            Self::Blanks => "the URL contains control characters or spaces".to_owned(),
            Self::Scheme(scheme) => format!("the scheme {scheme} is not supported"),
            Self::PlainHttp => "plain http is not allowed".to_owned(),
            Self::UserInfo => "the URL contains a user name or password".to_owned(),
            Self::Fragment => "the URL contains a fragment (#…), which is never sent".to_owned(),
            Self::Port(port) => format!("port {port} is not allowed"),
            Self::Name(name) => format!("{name} is not a public host name"),
            Self::Address => BLOCKED.to_owned(),
        }
    }

    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotAUrl(_) => "write it as https://host/path",
            Self::TooLong => "shorten its query",
            Self::Blanks => "remove them",
            Self::Scheme(_) => "use https://",
            Self::PlainHttp => "use https://, or ask the operator to set `allow_http`",
            Self::UserInfo => "send them as a header instead",
            Self::Fragment => "remove it",
            Self::Port(_) => {
                "use 443, 8443 or a port above 1023 that no well-known service uses, or ask the operator to add it to `allow_ports`"
            }
            Self::Name(_) => {
                "use the full public host name, or ask the operator to add it to `allow_names` (`operator_allow_names` for the operator's own targets)"
            }
            Self::Address => {
                "use a public address, or ask the operator to add its network to `allow_cidrs` (`operator_allow_cidrs` for the operator's own targets)"
            }
        }
    }
}

/// The parts of a URL that are needed to open a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target<'a> {
    pub https: bool,
    pub host: TargetHost<'a>,
    pub port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetHost<'a> {
    /// A name without the trailing dot.
    Name(&'a str),
    /// An IP address that may be reached.
    Address(AllowedAddress),
}

impl Policy {
    /// Allows loopback over http only, in addition to the public Internet.
    pub fn for_dev() -> Self {
        Self { dev: true, ..Self::default() }
    }

    /// A policy for a client that sends only to this URL's host, which the operator has configured: any
    /// address of it is allowed.
    pub fn for_operators(url: &Url) -> Self {
        let everywhere = vec![IpNet::V4(Ipv4Net::default()), IpNet::V6(Ipv6Net::default())];
        Self {
            addresses: AddressPolicy { allow: everywhere, ..AddressPolicy::default() },
            allow_http: true,
            allow_names: url.domain().map(str::to_owned).into_iter().collect(),
            allow_ports: url.port().into_iter().collect(),
            dev: true,
        }
    }

    /// Checks a URL as a tenant wrote it, and returns its canonical form.
    pub fn parse(&self, text: &str) -> Result<Url, UrlError> {
        if text.len() > MAX_LENGTH {
            return Err(UrlError::TooLong);
        }
        // A URL parser silently drops tabs and line ends, so the parsed URL would differ from the text.
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(UrlError::Blanks);
        }
        let mut url = Url::parse(text).map_err(|error| UrlError::NotAUrl(error.to_string()))?;
        if let Some(bare) = url.domain().and_then(|name| name.strip_suffix('.')).map(str::to_owned)
            && (bare.ends_with('.') || url.set_host(Some(&bare)).is_err())
        {
            return Err(UrlError::Name(bare));
        }
        self.check(&url)?;
        PathAndQuery::try_from(&url[Position::BeforePath..Position::AfterQuery])
            .map_err(|error| UrlError::NotAUrl(error.to_string()))?;
        Ok(url)
    }

    /// Checks a parsed URL. Cheap, because it runs before each attempt.
    pub fn check<'a>(&self, url: &'a Url) -> Result<Target<'a>, UrlError> {
        let https = match url.scheme() {
            "https" => true,
            "http" => false,
            other => return Err(UrlError::Scheme(other.to_owned())),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlError::UserInfo);
        }
        if url.fragment().is_some() {
            return Err(UrlError::Fragment);
        }
        let port = url.port_or_known_default().unwrap_or(0);
        let (host, local) = match url.host() {
            Some(Host::Domain(name)) => self.check_name(name)?,
            Some(Host::Ipv4(ip)) => self.check_address(ip.into(), port)?,
            Some(Host::Ipv6(ip)) => self.check_address(ip.into(), port)?,
            None => return Err(UrlError::NotAUrl("it has no host".to_owned())),
        };
        if !https && !self.allow_http && !local {
            return Err(UrlError::PlainHttp);
        }
        if !self.port_is_fit(port) {
            return Err(UrlError::Port(port));
        }
        Ok(Target { https, host, port })
    }

    /// Returns the address, if it may be reached. Loopback is allowed in development.
    pub fn admit(&self, address: SocketAddr) -> Result<AllowedAddress, &'static str> {
        self.addresses.admit_in(address, self.dev)
    }

    fn check_address<'a>(&self, ip: IpAddr, port: u16) -> Result<(TargetHost<'a>, bool), UrlError> {
        let local = self.dev && ip.to_canonical().is_loopback();
        match self.admit(SocketAddr::new(ip, port)) {
            Ok(judged) => Ok((TargetHost::Address(judged), local)),
            Err(_) => Err(UrlError::Address),
        }
    }

    fn check_name<'a>(&self, written: &'a str) -> Result<(TargetHost<'a>, bool), UrlError> {
        let name = written.strip_suffix('.').unwrap_or(written);
        if !is_well_formed(name) {
            return Err(UrlError::Name(written.to_owned()));
        }
        let local = self.dev && is_below(name, "localhost");
        let allowed = local || self.allow_names.iter().any(|allowed| is_below(name, allowed));
        if !allowed && is_special(name) {
            return Err(UrlError::Name(written.to_owned()));
        }
        Ok((TargetHost::Name(name), local))
    }

    fn port_is_fit(&self, port: u16) -> bool {
        let fit = match port {
            80 | 443 => true,
            0..1024 => false,
            _ => BAD_PORTS.binary_search(&port).is_err(),
        };
        fit || (port != 0 && self.allow_ports.contains(&port))
    }
}

/// Denied ports above 1023: those of the Fetch standard, and those of databases, caches and infrastructure.
#[rustfmt::skip]
const BAD_PORTS: [u16; 53] = [
    1080, 1433, 1521, 1719, 1720, 1723, 2049, 2181, 2375, 2376, 2377, 2379, 2380, 3128, 3260, 3306,
    3389, 3659, 4045, 4190, 4369, 5060, 5061, 5432, 5433, 5672, 5900, 5984, 5985, 5986, 6000, 6379,
    6443, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 7001, 8086, 9042, 9092, 9200, 9300,
    10080, 10250, 10255, 11211, 15672, 27017,
];

/// Names that have a meaning only inside a machine or a network.
const SPECIAL: [&str; 14] = [
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "arpa",
    "onion",
    "svc",
    "invalid",
    "alt",
];

fn is_special(name: &str) -> bool {
    match name.rsplit_once('.') {
        None => true,
        Some((_, last)) => SPECIAL.contains(&last),
    }
}

/// Whether the name is lower-case ASCII, in labels of 1 to 63 characters: the form that DNS and certificates
/// support.
fn is_well_formed(name: &str) -> bool {
    let fits = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    name.len() <= 253
        && name.split('.').all(|label| (1..=63).contains(&label.len()) && label.bytes().all(fits))
}

fn is_below(name: &str, parent: &str) -> bool {
    name.strip_suffix(parent).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

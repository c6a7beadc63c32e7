//! Checks the `Host` header. Any web page in the user's browser can reach a gateway that listens on the
//! loopback interface, under a name that its owner points to 127.0.0.1 (DNS rebinding). So such a gateway
//! accepts only names of this machine.

use std::net::IpAddr;

use http::{HeaderMap, Uri, header};

use crate::{codes, problem::Problem};

#[derive(Debug, Clone, Default)]
pub struct Hosts {
    /// Allowed names besides those of this machine, in lower case.
    allowed: Vec<String>,
}

impl Hosts {
    pub fn new(allowed: impl IntoIterator<Item = String>) -> Self {
        Self { allowed: allowed.into_iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let mut values = headers.get_all(header::HOST).iter();
        let (first, second) = (values.next(), values.next());
        if second.is_some() {
            return Err(Problem::new(
                &codes::BAD_REQUEST,
                "`Host` is sent more than once; send it once",
            ));
        }
        // A request to a proxy has the host in the URI. If both are present, both must be allowed.
        let header = first.map(|value| value.to_str().unwrap_or("?"));
        let authority = uri.authority().map(http::uri::Authority::as_str);
        let mut names = header.into_iter().chain(authority).peekable();
        if names.peek().is_some() && names.all(|name| self.allows(name)) {
            return Ok(());
        }
        Err(Problem::new(
            &codes::WRONG_HOST,
            "this host name is not allowed; use `localhost`, or add the name to `allowed_hosts` in the configuration",
        ))
    }

    fn allows(&self, authority: &str) -> bool {
        let Some(host) = without_port(authority) else { return false };
        if host == "127.0.0.1" || host.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            || self.allowed.contains(&host.to_ascii_lowercase())
    }
}

fn without_port(authority: &str) -> Option<&str> {
    let is_port = |text: &str| text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    if authority.contains('@') {
        return None;
    }
    if let Some(end) = authority.find(']') {
        let (host, rest) = authority.split_at(end + 1);
        return (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port)).then_some(host);
    }
    match authority.split_once(':') {
        Some((host, port)) => is_port(port).then_some(host),
        None => Some(authority),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_and_no_others() {
        let hosts = Hosts::new(["Gancho.internal".to_owned()]);
        for good in [
            "localhost",
            "LOCALHOST:3000",
            "127.0.0.1",
            "127.0.0.1:3000",
            "127.9.9.9:1",
            "[::1]",
            "[::1]:3000",
            "gancho.internal:80",
        ] {
            assert!(hosts.allows(good), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "evil@localhost",
            "localhost:80:80",
            "localhost:x",
            "[::1",
            "[::1]x",
            "169.254.1.1",
            "10.0.0.1",
            "::1",
            "0.0.0.0",
            "localhost ",
            "[::1]:123456",
        ] {
            assert!(!hosts.allows(bad), "{bad}");
        }
    }
}

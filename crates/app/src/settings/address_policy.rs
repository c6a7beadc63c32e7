//! The settings about addresses, in the words of the client that keeps to them.

use std::borrow::Cow;

use anyhow::Context;
use data_encoding::BASE64;
use gancho_egress::{AddressPolicy, Nat64, Policy, Proxy, Ruling};
use hyper::http::HeaderValue;
use ipnet::IpNet;
use percent_encoding::percent_decode_str;
use url::Url;

use super::Settings;

pub fn of(settings: &Settings) -> anyhow::Result<Policy> {
    let nat64 = settings
        .nat64_prefixes
        .iter()
        .map(|prefix| match prefix {
            IpNet::V6(prefix) => Nat64::try_from(*prefix).map_err(anyhow::Error::msg),
            IpNet::V4(prefix) => anyhow::bail!("{prefix} is an IPv4 network, not a NAT64 prefix"),
        })
        .collect::<Result<_, _>>()
        .context("nat64_prefixes")?;
    Ok(Policy {
        addresses: AddressPolicy {
            allow: settings.allow_cidrs.clone(),
            deny: settings.deny_cidrs.clone(),
            nat64,
        },
        allow_http: settings.allow_http,
        dev: false,
        allow_names: settings.allow_names.iter().map(|name| name.to_ascii_lowercase()).collect(),
        allow_ports: settings.allow_ports.clone(),
    })
}

/// How the client delivers.
pub fn client(settings: &Settings) -> anyhow::Result<gancho_egress::Settings> {
    Ok(gancho_egress::Settings {
        policy: of(settings)?,
        proxy: settings.proxy.as_deref().map(proxy).transpose().context("proxy")?,
        nameservers: settings.nameservers.clone(),
        ..gancho_egress::Settings::default()
    })
}

/// The rules for what the operator names, such as the core: that may be on this machine, in the operator's
/// own networks, and without TLS. What tenants may reach it may reach as well.
pub fn own(settings: &Settings) -> anyhow::Result<Policy> {
    let mut policy = of(settings)?;
    policy.addresses.allow.extend(&settings.operator_allow_cidrs);
    let names = settings.operator_allow_names.iter().map(|name| name.to_ascii_lowercase());
    policy.allow_names.extend(names);
    Ok(Policy { dev: true, allow_http: true, ..policy })
}

/// The client that keeps to them.
pub fn own_client(settings: &Settings) -> anyhow::Result<gancho_egress::Settings> {
    Ok(gancho_egress::Settings { policy: own(settings)?, ..client(settings)? })
}

/// Networks among those that tenants may reach which are private, or special in another way.
pub fn private_networks(settings: &Settings) -> Vec<IpNet> {
    let tables = AddressPolicy::default();
    let is_private = |network: &&IpNet| {
        let ends = [network.network(), network.broadcast()];
        ends.into_iter().any(|ip| tables.check(ip) != Ruling::Allowed)
    };
    settings.allow_cidrs.iter().filter(is_private).copied().collect()
}

fn proxy(url: &Url) -> anyhow::Result<Proxy> {
    let authorization = match url.username() {
        "" => None,
        user => {
            let pair = format!("{}:{}", decoded(user), decoded(url.password().unwrap_or_default()));
            let mut value =
                HeaderValue::try_from(format!("Basic {}", BASE64.encode(pair.as_bytes())))?;
            value.set_sensitive(true);
            Some(value)
        }
    };
    Ok(Proxy {
        host: url.host_str().context("it has no host")?.to_owned(),
        port: url.port_or_known_default().context("it has no port")?,
        authorization,
    })
}

fn decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_gets_its_name_and_password() {
        let read = proxy(&"http://ana:p%40ss+1@proxy.internal:3128".parse().unwrap()).unwrap();
        assert_eq!((read.host.as_str(), read.port), ("proxy.internal", 3128));
        let expected = format!("Basic {}", BASE64.encode(b"ana:p@ss+1"));
        assert_eq!(read.authorization.unwrap().to_str().unwrap(), expected);
        let plain = proxy(&"http://10.0.0.1".parse().unwrap()).unwrap();
        assert_eq!((plain.port, plain.authorization), (80, None));
    }
}

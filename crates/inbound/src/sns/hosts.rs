//! Decides which URLs in a message are Amazon's. The message is untrusted until its signature is verified,
//! and one of the URLs is that of the certificate for it: the verification depends on this rule.

use url::{Host, Position, Url};

/// Amazon's hosts, and those that the operator adds for services that are compatible with SNS.
#[derive(Debug, Clone, Default)]
pub struct SnsHosts {
    /// `host` or `host:port`.
    extra: Vec<String>,
}

impl SnsHosts {
    /// Trusts Amazon's hosts only.
    pub fn amazon() -> Self {
        Self::default()
    }

    /// Trusts other hosts as well, each as `host` (for port 443) or `host:port`. They are contacted over
    /// https too.
    pub fn with(extra: impl IntoIterator<Item = String>) -> Self {
        Self { extra: extra.into_iter().map(|host| host.to_ascii_lowercase()).collect() }
    }

    /// Returns the URL if a certificate may be fetched from it.
    pub fn certificate(&self, text: &str) -> Result<Url, &'static str> {
        let (url, is_amazons) = self.admitted(text)?;
        // A host may serve anything else by a query or in subdirectories, so neither is accepted.
        let is_file = url.path().strip_suffix(".pem").is_some() && url.query().is_none();
        let is_at_top = !url.path().get(1..).unwrap_or_default().contains('/');
        if is_file && (is_at_top || !is_amazons) {
            Ok(url)
        } else {
            Err("the certificate URL is not a .pem file of SNS")
        }
    }

    /// Returns the URL if a subscription may be confirmed there.
    pub fn confirmation(&self, text: &str) -> Result<Url, &'static str> {
        self.admitted(text).map(|(url, _)| url)
    }

    fn admitted(&self, text: &str) -> Result<(Url, bool), &'static str> {
        // A URL parser drops tabs and line ends, and reads `\` as `/`, so such text is refused before it is
        // parsed.
        let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
        if text.len() > 2_048 || !text.bytes().all(is_plain) {
            return Err("the URL contains invalid characters or is too long");
        }
        let url = Url::parse(text).map_err(|_| "not a URL")?;
        if url.scheme() != "https" {
            return Err("the URL is not https");
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err("the URL contains a user name or a fragment");
        }
        let is_amazons = match url.host() {
            Some(Host::Domain(name)) => is_amazons(name) && url.port().is_none(),
            _ => false,
        };
        let host = &url[Position::BeforeHost..Position::AfterPort];
        if is_amazons || self.extra.iter().any(|extra| extra == host) {
            Ok((url, is_amazons))
        } else {
            Err("the host of the URL does not belong to SNS")
        }
    }
}

/// Whether the host is `sns.<region>.amazonaws.com` or `.com.cn`. The region must look like one: others can
/// own `sns.s3-us-west-2.amazonaws.com`, by naming a bucket `sns`.
fn is_amazons(name: &str) -> bool {
    let rest = name.strip_prefix("sns.");
    let region = rest.and_then(|rest| {
        rest.strip_suffix(".amazonaws.com").or_else(|| rest.strip_suffix(".amazonaws.com.cn"))
    });
    region.is_some_and(is_region)
}

/// Whether the text looks like `eu-west-1` or `us-gov-east-1`: words, and a number at the end.
pub(crate) fn is_region(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_word = |part: &&str| {
        (1..=20).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    match parts.as_slice() {
        [words @ .., number] => {
            words.len() >= 2
                && words.first().is_some_and(|first| first.len() <= 4)
                && words.iter().all(is_word)
                && (1..=2).contains(&number.len())
                && number.bytes().all(|byte| byte.is_ascii_digit())
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEM: &str = "/SimpleNotificationService-9c6465fa7f48f5cacd23014631ec1136.pem";

    #[test]
    fn amazons_hosts() {
        let hosts = SnsHosts::amazon();
        for host in [
            "sns.us-east-1.amazonaws.com",
            "sns.eu-central-2.amazonaws.com",
            "sns.us-gov-west-1.amazonaws.com",
            "sns.ap-southeast-4.amazonaws.com:443",
            "sns.cn-north-1.amazonaws.com.cn",
            "SNS.us-east-1.amazonaws.com",
        ] {
            hosts.certificate(&format!("https://{host}{PEM}")).expect(host);
            hosts.confirmation(&format!("https://{host}/?Action=ConfirmSubscription")).expect(host);
        }
    }

    /// Other hosts, whatever their names.
    #[test]
    fn strangers() {
        let hosts = SnsHosts::amazon();
        for host in [
            "sns.us-east-1.amazonaws.com.evil.com",
            "sns.us-east-1.amazonaws.com.cn.evil.com",
            "sns.us-east-1.amazonaws.co",
            "sns.us-east-1.evil-amazonaws.com",
            "evil-sns.us-east-1.amazonaws.com",
            "evil.sns.us-east-1.amazonaws.com",
            "sns.amazonaws.com",
            "sns.s3.amazonaws.com",
            "sns.s3-us-west-2.amazonaws.com",
            "sns.s3.us-west-2.amazonaws.com",
            "sns.s3-website-us-east-1.amazonaws.com",
            "sns.us-east-1.elb.amazonaws.com",
            "sns.execute-api-1.amazonaws.com",
            "sns..amazonaws.com",
            "sns.us-east-1.amazonaws.com.",
            "sns.us-east-1.amazonaws.com:8443",
            "sns.us-east-1.amazonaws.com:80",
            "sns.us-east-1.amazonaws.com@evil.com",
            "evil.com@sns.us-east-1.amazonaws.com",
            "user:pass@sns.us-east-1.amazonaws.com",
            "evil.com#sns.us-east-1.amazonaws.com",
            "evil.com?.sns.us-east-1.amazonaws.com",
            "evil.com\\.sns.us-east-1.amazonaws.com",
            "sns.us-east-1.amazonaws.com\\@evil.com",
            "sns%2eus-east-1.amazonaws.com.evil.com",
            "sns.us-east-1\u{3002}amazonaws\u{3002}evil.com",
            "ｓns.us-east-1.amazonaws.com",
            "127.0.0.1",
            "[::1]",
            "0x7f.1",
            "localhost",
            "",
        ] {
            let pem = format!("https://{host}{PEM}");
            assert!(hosts.certificate(&pem).is_err(), "{pem}");
            assert!(hosts.confirmation(&format!("https://{host}/?Token=t")).is_err(), "{host}");
        }
    }

    #[test]
    fn what_is_no_certificate() {
        let hosts = SnsHosts::amazon();
        for url in [
            "http://sns.us-east-1.amazonaws.com/a.pem",
            "ftp://sns.us-east-1.amazonaws.com/a.pem",
            "file:///a.pem",
            "//sns.us-east-1.amazonaws.com/a.pem",
            "https://sns.us-east-1.amazonaws.com/",
            "https://sns.us-east-1.amazonaws.com/a.pem?x=1",
            "https://sns.us-east-1.amazonaws.com/?x=a.pem",
            "https://sns.us-east-1.amazonaws.com/a.pem#b",
            "https://sns.us-east-1.amazonaws.com/#a.pem",
            "https://sns.us-east-1.amazonaws.com/deeper/a.pem",
            "https://sns.us-east-1.amazonaws.com/a.pem/",
            "https://sns.us-east-1.amazonaws.com/a.\tpem",
            " https://sns.us-east-1.amazonaws.com/a.pem",
            "https:\\\\sns.us-east-1.amazonaws.com\\a.pem",
        ] {
            assert!(hosts.certificate(url).is_err(), "{url}");
        }
    }

    #[test]
    fn hosts_that_an_operator_adds() {
        let hosts = SnsHosts::with(["sns.test:4566".to_owned(), "Sns.Other".to_owned()]);
        assert!(hosts.certificate("https://sns.test:4566/_aws/sns/a.pem").is_ok());
        assert!(hosts.certificate("https://sns.other/a.pem").is_ok());
        assert!(hosts.certificate(&format!("https://sns.us-east-1.amazonaws.com{PEM}")).is_ok());
        for url in [
            "https://sns.test/a.pem",
            "https://sns.other:4566/a.pem",
            "https://x.sns.other/a.pem",
            "http://sns.other/a.pem",
            "https://a@sns.other/a.pem",
        ] {
            assert!(hosts.certificate(url).is_err(), "{url}");
        }
    }
}

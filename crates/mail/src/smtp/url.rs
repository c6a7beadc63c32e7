//! `smtp://user:password@host:port?tls=required|opportunistic|none`, or `smtps://…`.

use std::{fmt, str::FromStr};

use percent_encoding::percent_decode_str;
use thiserror::Error;
use url::Url;
use zeroize::Zeroizing;

#[derive(Clone, PartialEq, Eq)]
pub struct SmtpServer {
    pub host: String,
    pub port: u16,
    pub tls: TlsMode,
    pub user: Option<String>,
    pub password: Zeroizing<String>,
    /// The name sent with EHLO.
    pub hello: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// TLS from the first byte (`smtps`).
    Wrapped,
    /// STARTTLS is required.
    Required,
    /// STARTTLS is used if the server offers it. An attacker on the path can remove the offer.
    Opportunistic,
    None,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}. hint: {}", self.what(), self.hint())]
pub struct SmtpUrlError(String);

impl SmtpUrlError {
    pub fn what(&self) -> String {
        format!("the mail server's URL {}", self.0)
    }

    pub fn hint(&self) -> &'static str {
        "write it as smtp://user:password@host:587?tls=required or smtps://user:password@host:465"
    }
}

impl FromStr for SmtpServer {
    type Err = SmtpUrlError;

    fn from_str(text: &str) -> Result<Self, SmtpUrlError> {
        let bad = |why: &str| SmtpUrlError(why.to_owned());
        let url = Url::parse(text).map_err(|error| SmtpUrlError(format!("is invalid: {error}")))?;
        let (mut tls, port) = match url.scheme() {
            "smtp" => (TlsMode::Required, 587),
            "smtps" => (TlsMode::Wrapped, 465),
            _ => return Err(bad("starts with neither smtp:// nor smtps://")),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(bad("has no host"))?;
        if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
            return Err(bad("has a path, which is not supported"));
        }
        let mut hello = None;
        for (name, value) in url.query_pairs() {
            match (&*name, &*value) {
                ("tls", "required") if tls != TlsMode::Wrapped => tls = TlsMode::Required,
                ("tls", "opportunistic") if tls != TlsMode::Wrapped => tls = TlsMode::Opportunistic,
                ("tls", "none") if tls != TlsMode::Wrapped => tls = TlsMode::None,
                ("tls", _) => {
                    return Err(bad(
                        "has a `tls` other than required, opportunistic or none, or with smtps",
                    ));
                }
                ("hello", name) if is_hello(name) => hello = Some(name.to_owned()),
                (other, _) => {
                    return Err(SmtpUrlError(format!("has an unknown parameter `{other}`")));
                }
            }
        }
        let user = decoded(url.username()).ok_or(bad("has an invalid user name"))?;
        let password =
            decoded(url.password().unwrap_or_default()).ok_or(bad("has an invalid password"))?;
        if user.is_empty() && !password.is_empty() {
            return Err(bad("has a password but no user name"));
        }
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(port),
            tls,
            user: Some(user).filter(|user| !user.is_empty()),
            password: Zeroizing::new(password),
            hello: hello.unwrap_or_else(|| "gancho.localdomain".to_owned()),
        })
    }
}

fn is_hello(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-.[]:".contains(&byte);
    (1..=253).contains(&name.len()) && name.bytes().all(fits)
}

/// Decodes percent-encoding. `None` if a percent sign is not followed by two digits, or encodes a byte that
/// no name or password has.
fn decoded(text: &str) -> Option<String> {
    let is_escape = |rest: &str| {
        rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(is_escape) {
        return None;
    }
    let text = percent_decode_str(text).decode_utf8().ok()?;
    (!text.contains(['\0', '\r', '\n'])).then(|| text.into_owned())
}

/// Omits the password.
impl fmt::Debug for SmtpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} ({:?})", self.host, self.port, self.tls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_says() {
        for (text, host, port, tls, user, password) in [
            ("smtp://mail.example.com", "mail.example.com", 587, TlsMode::Required, None, ""),
            ("smtps://a:b@h", "h", 465, TlsMode::Wrapped, Some("a"), "b"),
            ("smtp://h:25?tls=none", "h", 25, TlsMode::None, None, ""),
            ("smtp://h?tls=opportunistic", "h", 587, TlsMode::Opportunistic, None, ""),
            ("smtp://[::1]:2525?tls=none", "::1", 2525, TlsMode::None, None, ""),
            (
                "smtp://me%40example.com:p%3A%2f%25w@h/",
                "h",
                587,
                TlsMode::Required,
                Some("me@example.com"),
                "p:/%w",
            ),
        ] {
            let server: SmtpServer = text.parse().expect(text);
            let seen = (server.host.as_str(), server.port, server.tls, server.user.as_deref());
            assert_eq!(seen, (host, port, tls, user), "{text}");
            assert_eq!(server.password.as_str(), password, "{text}");
            assert!(password.is_empty() || !format!("{server:?}").contains(password));
        }
    }

    #[test]
    fn what_it_may_not_say() {
        for text in [
            "",
            "mail.example.com",
            "http://h",
            "smtp://",
            "smtp://h/path",
            "smtp://h?tls=maybe",
            "smtps://h?tls=none",
            "smtp://h?timeout=1",
            "smtp://:secret@h",
            "smtp://a%:b@h",
            "smtp://a%00:b@h",
            "smtp://h?hello=a%0d%0aMAIL",
        ] {
            let refused = text.parse::<SmtpServer>().expect_err(text).to_string();
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}

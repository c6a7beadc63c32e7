//! Settings that contain secrets. They are masked wherever they are shown.

use std::{fmt, ops::Deref};

use gancho_domain::mask::MASK;
use gancho_mail::smtp::SmtpServer;
use url::Url;

use super::{
    error::ValueError,
    raw_value::RawValue,
    value::{Setting, one, quoted},
};

/// A secret. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Setting for Secret {
    const FORM: &'static str = "secret text";

    fn read(written: &RawValue) -> Result<Self, ValueError> {
        one(written).map(|text| Self(text.to_owned()))
    }

    fn show(&self) -> String {
        format!("\"{MASK}\"")
    }
}

/// `sqlite:PATH` or `postgres://…`, which may hold a password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn masked(&self) -> String {
        mask_password(&self.0)
    }
}

/// PostgreSQL also accepts a password as a parameter, and our store other URLs.
const SECRET_PARAMETERS: [&str; 3] = ["password=", "direct=", "read="];

/// The same URL with its password masked.
pub fn mask_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let masked = match rest[..end].rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((name, _)) => format!("{name}:{MASK}@{host}"),
            None => format!("{user}@{host}"),
        },
        None => rest[..end].to_owned(),
    };
    let tail: Vec<String> = rest[end..]
        .split_inclusive(['?', '&'])
        .map(|part| match SECRET_PARAMETERS.iter().find(|name| part.starts_with(**name)) {
            Some(name) if part.ends_with('&') => format!("{name}{MASK}&"),
            Some(name) => format!("{name}{MASK}"),
            None => part.to_owned(),
        })
        .collect();
    format!("{scheme}://{masked}{}", tail.concat())
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.masked())
    }
}

impl Setting for DatabaseUrl {
    const FORM: &'static str = "`sqlite:PATH` or `postgres://…`";

    fn read(written: &RawValue) -> Result<Self, ValueError> {
        let text = one(written)?;
        let known = ["sqlite:", "postgres://", "postgresql://"];
        match known.iter().find_map(|scheme| text.strip_prefix(scheme)) {
            Some(rest) if !rest.is_empty() => Ok(Self(text.to_owned())),
            // It may contain a password, so it is not repeated.
            _ => Err(ValueError::new(
                "not a database URL",
                "write sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME",
            )),
        }
    }

    fn show(&self) -> String {
        format!("{:?}", self.masked())
    }
}

/// `smtp://…` or `smtps://…`, which may hold a password.
#[derive(Clone, PartialEq, Eq)]
pub struct MailUrl(String);

impl MailUrl {
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for MailUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&mask_password(&self.0))
    }
}

/// Errors do not repeat the value.
impl Setting for MailUrl {
    const FORM: &'static str = "`smtp://USER:PASSWORD@HOST:PORT` or `smtps://…`";

    fn read(written: &RawValue) -> Result<Self, ValueError> {
        let text = one(written)?;
        match text.parse::<SmtpServer>() {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(bad) => Err(ValueError::new(bad.what(), bad.hint())),
        }
    }

    fn show(&self) -> String {
        format!("{:?}", mask_password(&self.0))
    }
}

/// A URL, which may contain a password, and a token in its query.
#[derive(Clone, PartialEq, Eq)]
pub struct Link(Url);

impl Link {
    pub fn masked(&self) -> String {
        let mut url = self.0.clone();
        if url.query().is_some() {
            url.set_query(None);
            return format!("{}?{MASK}", mask_password(url.as_str()));
        }
        mask_password(url.as_str())
    }
}

impl Deref for Link {
    type Target = Url;

    fn deref(&self) -> &Url {
        &self.0
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.masked())
    }
}

/// Errors do not repeat the value.
impl Setting for Link {
    const FORM: &'static str = "a URL";

    fn read(written: &RawValue) -> Result<Self, ValueError> {
        let invalid = |why: String| ValueError::new(why, "for example, https://host/path");
        let url =
            Url::parse(one(written)?).map_err(|error| invalid(format!("not a URL: {error}")))?;
        match url.scheme() {
            "http" | "https" if url.has_host() => Ok(Self(url)),
            other => Err(invalid(format!("unsupported URL scheme `{other}`"))),
        }
    }

    fn show(&self) -> String {
        quoted(&self.masked())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_covered_wherever_it_stands() {
        for (url, shown) in [
            ("sqlite:/a/b.db", "sqlite:/a/b.db"),
            ("postgres://db/gancho", "postgres://db/gancho"),
            ("postgres://u@db/gancho", "postgres://u@db/gancho"),
            (
                "postgres://u:p@ss@db:5432/g?sslmode=require",
                "postgres://u:••••@db:5432/g?sslmode=require",
            ),
            ("postgres://db/g?password=hunter2&user=u", "postgres://db/g?password=••••&user=u"),
            (
                "postgres://a,b/g?direct=postgres%3A%2F%2Fu%3Ahunter2%40db&schema=x",
                "postgres://a,b/g?direct=••••&schema=x",
            ),
            ("http://u:hunter2@proxy:3128", "http://u:••••@proxy:3128"),
        ] {
            assert_eq!(mask_password(url), shown);
        }
        assert_eq!(format!("{:?}", Secret::new("hunter2")), MASK);
        let link = Link::read(&RawValue::One("https://u:hunter2@h/p?token=hunter2".to_owned()));
        assert_eq!(format!("{:?}", link.unwrap()), "https://u:••••@h/p?••••");
    }
}

//! The cookies of the dashboard and of the portal. Each has the path of its pages, so a browser never sends
//! it to the API, never one of the dashboard to the portal, and vice versa.

use http::{HeaderMap, HeaderValue, header};

use crate::base::Base;

pub const LANGUAGE: &str = "gancho_language";
pub const THEME: &str = "gancho_theme";
/// The content that one page shows once, see [`crate::once`].
pub const ONCE: &str = "gancho_once";
/// A message for the next page, see [`crate::flashes`].
pub const FLASH: &str = "gancho_flash";
/// A form that waits for the login, see [`crate::drafts`].
pub const DRAFT: &str = "gancho_draft";

/// Returns the name of the dashboard's session cookie. Browsers accept the prefix only with `Secure`.
pub const fn session(is_secure: bool) -> &'static str {
    if is_secure { "__Secure-gancho_session" } else { "gancho_session" }
}

/// Returns the name of the portal's session cookie. Browsers accept the prefix only with `Secure`.
pub const fn portal_session(is_secure: bool) -> &'static str {
    if is_secure { "__Secure-gancho_portal" } else { "gancho_portal" }
}

/// Returns where and when a browser sends a cookie. The portal may be in a frame of another site, which
/// browsers allow only by HTTPS, with separate cookies for each site that embeds it. Without HTTPS it works
/// in frames of the same site, such as another port of `localhost`.
pub const fn attributes(base: Base, is_secure: bool) -> &'static str {
    match (base, is_secure) {
        (Base::Dashboard, true) => "Path=/ui; SameSite=Lax; Secure",
        (Base::Dashboard, false) => "Path=/ui; SameSite=Lax",
        (Base::Portal, true) => "Path=/portal; SameSite=None; Secure; Partitioned",
        (Base::Portal, false) => "Path=/portal; SameSite=Lax",
    }
}

/// Returns the value of a cookie.
pub fn read<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    read_all(headers, name).next()
}

/// Returns the values of all cookies with a name, because another site of the same domain may have set one
/// too.
pub fn read_all<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.filter(move |(known, _)| known.trim() == name).map(|(_, value)| value.trim())
}

/// Returns the header that sets a cookie of the dashboard, which scripts cannot read. An empty value deletes
/// it.
pub fn write(name: &str, value: &str, max_age_secs: u64, is_secure: bool) -> Option<HeaderValue> {
    write_for(Base::Dashboard, name, value, max_age_secs, is_secure)
}

/// As [`write`], for the dashboard or the portal.
pub fn write_for(
    base: Base,
    name: &str,
    value: &str,
    max_age_secs: u64,
    is_secure: bool,
) -> Option<HeaderValue> {
    write_at(base, base.path(), name, value, max_age_secs, is_secure)
}

/// As [`write_for`], for the pages below a path only.
pub fn write_at(
    base: Base,
    path: &str,
    name: &str,
    value: &str,
    max_age_secs: u64,
    is_secure: bool,
) -> Option<HeaderValue> {
    // Nothing in a path may end the attribute.
    let path = Some(path).filter(|path| base.has(path) && !path.contains([';', ',']))?;
    let (_, attributes) = attributes(base, is_secure).split_once("; ")?;
    let max_age = if value.is_empty() { 0 } else { max_age_secs };
    let text = format!("{name}={value}; Path={path}; {attributes}; Max-Age={max_age}; HttpOnly");
    HeaderValue::from_str(&text).ok()
}

//! The cookies of the dashboard. All of them have the path `/ui`, so a browser never sends them to the API.

use http::{HeaderMap, HeaderValue, header};

pub const SESSION: &str = "gancho_session";
pub const LANGUAGE: &str = "gancho_language";
pub const THEME: &str = "gancho_theme";

/// The value of a cookie.
pub fn read<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(known, _)| known.trim() == name).map(|(_, value)| value.trim())
}

/// A cookie that the script cannot read. An empty value deletes it.
pub fn write(name: &str, value: &str, max_age_secs: u64, is_secure: bool) -> Option<HeaderValue> {
    let secure = if is_secure { "; Secure" } else { "" };
    let max_age = if value.is_empty() { 0 } else { max_age_secs };
    let text =
        format!("{name}={value}; Path=/ui; Max-Age={max_age}; HttpOnly; SameSite=Lax{secure}");
    HeaderValue::from_str(&text).ok()
}

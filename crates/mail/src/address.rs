//! E-mail addresses, validated more strictly than the standards require: text that could be read as several
//! addresses, or as the end of a line, is refused rather than quoted.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An address with an optional display name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    name: Option<String>,
    local: String,
    /// The domain in lower-case ASCII, as used for DNS.
    domain: String,
}

const MAX_LOCAL_LENGTH: usize = 64;
const MAX_DOMAIN_LENGTH: usize = 253;
const MAX_NAME_LENGTH: usize = 200;

impl Mailbox {
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub fn local(&self) -> &str {
        &self.local
    }

    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// Returns the address without the display name.
    pub fn address(&self) -> String {
        format!("{}@{}", self.local, self.domain)
    }

    /// Returns a normalized spelling, as far as two spellings are known to reach the same mailbox.
    pub fn normalized(&self) -> String {
        self.address().to_ascii_lowercase()
    }

    pub fn masked(&self) -> String {
        gancho_domain::mask::email(&self.address())
    }
}

/// Parses `ana@example.com` or `Ana Lima <ana@example.com>`. The error says what is wrong.
impl FromStr for Mailbox {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.chars().any(char::is_control) {
            return Err("contains a control character, such as a line break: remove it".into());
        }
        let text = text.trim();
        let (name, address) = match text.strip_suffix('>') {
            None => (None, text),
            Some(rest) => {
                let (name, address) = rest.rsplit_once('<').ok_or("`>` without a preceding `<`")?;
                (shown_name(name)?, address)
            }
        };
        let (local, domain) =
            address.rsplit_once('@').ok_or("no `@`: use the form name@example.com")?;
        check_local(local)?;
        Ok(Self { name, local: local.to_owned(), domain: ascii_domain(domain)? })
    }
}

fn shown_name(text: &str) -> Result<Option<String>, String> {
    let text = text.trim();
    let name = match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => unescape(quoted),
        None => text.to_owned(),
    };
    if name.chars().count() > MAX_NAME_LENGTH {
        return Err(format!("the display name is longer than {MAX_NAME_LENGTH} characters"));
    }
    Ok(Some(name).filter(|name| !name.is_empty()))
}

fn unescape(quoted: &str) -> String {
    let mut plain = String::with_capacity(quoted.len());
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        plain.push(if letter == '\\' { letters.next().unwrap_or('\\') } else { letter });
    }
    plain
}

/// Accepts a dot-atom. The standards allow quoted local parts, but in practice only attackers use them.
fn check_local(local: &str) -> Result<(), String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~.".contains(&byte);
    if local.is_empty() {
        return Err("the local part before the `@` is empty".into());
    }
    if local.len() > MAX_LOCAL_LENGTH {
        return Err(format!(
            "the local part before the `@` is longer than {MAX_LOCAL_LENGTH} characters"
        ));
    }
    if let Some(invalid) = local.chars().find(|letter| !letter.is_ascii() || !fits(*letter as u8)) {
        return Err(format!(
            "`{}` is not allowed before the `@`: use letters, digits and !#$%&'*+-/=?^_`{{|}}~.",
            invalid.escape_default()
        ));
    }
    if local.starts_with('.') || local.ends_with('.') || local.contains("..") {
        return Err("a dot before the `@` must be between other characters".into());
    }
    Ok(())
}

/// Encodes international domains (IDNA).
fn ascii_domain(domain: &str) -> Result<String, String> {
    let invalid = |letter: char| letter == '%' || letter.is_ascii() && !is_of_host(letter);
    if domain.chars().any(invalid) {
        return Err("the part after the `@` is not a host name".into());
    }
    let name = match url::Host::parse(domain) {
        Ok(url::Host::Domain(name)) => name,
        Ok(_) => return Err("the part after the `@` is an IP address: use a host name".into()),
        Err(_) => return Err("the part after the `@` is not a host name".into()),
    };
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if name.len() > MAX_DOMAIN_LENGTH || !name.split('.').all(is_label) {
        return Err("the part after the `@` is not a host name".into());
    }
    if !name.contains('.') && name != "localhost" {
        return Err(format!(
            "`{name}` is not a fully qualified host name: use the form example.com"
        ));
    }
    Ok(name)
}

fn is_of_host(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '-' || letter == '.'
}

/// Writes a form that parses back to the same value.
impl fmt::Display for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(name) = &self.name else {
            return write!(f, "{}@{}", self.local, self.domain);
        };
        let name = name.replace('\\', "\\\\").replace('"', "\\\"");
        write!(f, "\"{name}\" <{}@{}>", self.local, self.domain)
    }
}

impl Serialize for Mailbox {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mailbox {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_an_address() {
        for (text, name, address) in [
            ("ana@example.com", None, "ana@example.com"),
            (" ana@Example.COM ", None, "ana@example.com"),
            ("Ana.Lima+tag@mail.example.com.br", None, "Ana.Lima+tag@mail.example.com.br"),
            ("<ana@example.com>", None, "ana@example.com"),
            ("Ana Lima <ana@example.com>", Some("Ana Lima"), "ana@example.com"),
            ("\"Lima, Ana \\\"Nina\\\"\" <ana@x.io>", Some("Lima, Ana \"Nina\""), "ana@x.io"),
            ("João <joao@exämple.com>", Some("João"), "joao@xn--exmple-cua.com"),
            ("a <b> c <d@e.fr>", Some("a <b> c"), "d@e.fr"),
            ("dev@localhost", None, "dev@localhost"),
        ] {
            let mailbox: Mailbox = text.parse().expect(text);
            assert_eq!((mailbox.name(), mailbox.address().as_str()), (name, address), "{text}");
            let again: Mailbox = mailbox.to_string().parse().expect(text);
            assert_eq!(again, mailbox, "{text}");
        }
    }

    /// Texts that would break a line, an envelope or a list of addresses.
    #[test]
    fn what_is_none() {
        for text in [
            "",
            "ana",
            "ana@",
            "@example.com",
            "ana@example",
            "ana@.com",
            "ana@example..com",
            "ana@-example.com",
            "ana@exa_mple.com",
            "ana@exa mple.com",
            "ana@example.com>",
            "ana@@example.com",
            "ana@example.com,eve@example.com",
            "ana@example.com;eve@example.com",
            "ana@example.com eve@example.com",
            "<ana@example.com> <eve@example.com",
            "a b@example.com",
            ".ana@example.com",
            "ana.@example.com",
            "a..na@example.com",
            "\"a\\\r\nRCPT TO:<eve@example.com>\"@example.com",
            "\"a b\"@example.com",
            "ana@example.com\r\nBcc: eve@example.com",
            "ana\n@example.com",
            "ana\0@example.com",
            "Ana\r\nBcc: eve@example.com <ana@example.com>",
            "Ana\u{85}<ana@example.com>",
            "ana@[127.0.0.1]",
            "ana@127.0.0.1",
            "ana@2130706433",
            "ana@%65xample.com",
            "joão@example.com",
            "ana(comment)@example.com",
        ] {
            assert!(text.parse::<Mailbox>().is_err(), "{text:?}");
        }
        let long = format!("{}@example.com", "a".repeat(65));
        assert!(long.parse::<Mailbox>().is_err());
        let long = format!("a@{}.com", "a.".repeat(130));
        assert!(long.parse::<Mailbox>().is_err());
        let long = format!("{} <a@example.com>", "n".repeat(201));
        assert!(long.parse::<Mailbox>().is_err());
    }
}

//! Masks secrets with [`MASK`], and parts of e-mail addresses (`joao@example.com` → `j***@e***le.com`).

/// Shown in place of a secret.
pub const MASK: &str = "••••";

/// Keeps the first letter of each side, the last two letters of the domain's name, and what follows
/// the domain's last dot.
pub fn email(address: &str) -> String {
    let Some((local, domain)) = address.rsplit_once('@') else {
        return "***".to_owned();
    };
    let (name, ending) = domain.rsplit_once('.').map_or((domain, ""), |(name, end)| (name, end));
    let mut masked = String::with_capacity(24);
    masked.extend(local.chars().next());
    masked.push_str("***@");
    masked.extend(name.chars().next());
    masked.push_str("***");
    // The last two letters would reveal a name of three letters or fewer.
    let letters = name.chars().count();
    if letters > 3 {
        masked.extend(name.chars().skip(letters - 2));
    }
    if !ending.is_empty() {
        masked.push('.');
        masked.push_str(ending);
    }
    masked
}

/// Masks every e-mail address in a text from outside, such as a server's error message. Servers also write
/// addresses percent-encoded, in links, and with spaces.
pub fn text(text: &str) -> String {
    let plain = text.replace("%40", "@").replace(" @ ", "@");
    let mut masked = String::with_capacity(plain.len());
    let mut rest = plain.as_str();
    while let Some(at) = rest.find('@') {
        let start = rest[..at]
            .rfind(|letter| !is_local(letter))
            .map_or(0, |place| place + rest[place..].chars().next().map_or(1, char::len_utf8));
        let end = rest[at + 1..]
            .find(|letter: char| !is_host(letter))
            .map_or(rest.len(), |length| at + 1 + length);
        masked.push_str(&rest[..start]);
        // A trailing dot ends the sentence, not the domain.
        let address = rest[start..end].trim_end_matches('.');
        if start == at || address.len() <= at + 1 - start {
            masked.push_str(&rest[start..end]);
        } else {
            masked.push_str(&email(address));
            masked.push_str(&rest[start + address.len()..end]);
        }
        rest = &rest[end..];
    }
    masked.push_str(rest);
    masked
}

fn is_local(letter: char) -> bool {
    letter.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(letter)
}

fn is_host(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '-' || letter == '.'
}

#[cfg(test)]
mod tests {
    use super::{email, text};

    #[test]
    fn as_in_the_contract() {
        assert_eq!(email("joao@example.com"), "j***@e***le.com");
        assert_eq!(email("a@b.co"), "a***@b***.co");
        assert_eq!(email("ana@mail.example.com.br"), "a***@m***om.br");
        assert_eq!(email("\"odd@local\"@example.com"), "\"***@e***le.com");
        assert_eq!(email("no address"), "***");
        assert_eq!(email("@"), "***@***");
    }

    #[test]
    fn only_addresses_are_hidden() {
        for (given, masked) in [
            ("", ""),
            ("see https://x.example/?to=joao%40example.com now", "see https:/***@e***le.com now"),
            ("joao @ example.com is unknown", "j***@e***le.com is unknown"),
            ("no such user", "no such user"),
            ("<joao@example.com>: unknown", "<j***@e***le.com>: unknown"),
            ("é joao@example.com.", "é j***@e***le.com."),
            ("a@b.co and joao@example.com", "a***@b***.co and j***@e***le.com"),
            ("@ alone, x@ and @y.com", "@ alone, x@ and @y.com"),
            ("joão@exämple.com", "j***@e***le.com"),
        ] {
            assert_eq!(text(given), masked);
        }
    }
}

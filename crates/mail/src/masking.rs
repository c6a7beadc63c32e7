//! Masks addresses in texts of others, such as the error message of a server.

use gancho_domain::mask;

/// Masks every address in a text.
pub fn text(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
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
            masked.push_str(&mask::email(address));
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
    use super::text;

    #[test]
    fn only_addresses_are_hidden() {
        for (given, masked) in [
            ("", ""),
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

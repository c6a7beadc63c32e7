//! Returns the request of a delivery as a `curl` command.

use std::fmt::Write;

use serde_json::value::RawValue;

use super::{super::endpoint_facts::EndpointFacts, attempt::Attempt};

/// The API shows this in place of a secret.
const MASK: char = '•';
/// Maximum size of a body that is worth pasting.
const MAX_BODY: usize = 64 * 1024;

/// Returns the command with the headers as they were sent last, and the body byte for byte. A masked header
/// becomes a variable.
pub fn command(
    endpoint: Option<&EndpointFacts>,
    attempt: Option<&Attempt>,
    body: Option<&RawValue>,
) -> Option<String> {
    let (endpoint, body) = (endpoint?, body?.get());
    if body.len() > MAX_BODY {
        return None;
    }
    let mut command = format!("curl -X POST {}", quoted(&endpoint.url));
    let headers = attempt.iter().flat_map(|attempt| &attempt.request_headers);
    let mut has_type = false;
    for (name, value) in headers {
        has_type |= name.as_str().eq_ignore_ascii_case("content-type");
        if value.as_str().contains(MASK) {
            let _ = write!(command, " \\\n  -H \"{name}: ${}\"", variable(name.as_str()));
        } else {
            let _ = write!(command, " \\\n  -H {}", quoted(&format!("{name}: {value}")));
        }
    }
    if !has_type {
        command.push_str(" \\\n  -H 'content-type: application/json'");
    }
    let _ = write!(command, " \\\n  --data-binary {}", quoted(body));
    Some(command)
}

/// Quotes a text as one word of a shell, whatever it contains.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn variable(header: &str) -> String {
    let plain = |symbol: char| if symbol.is_ascii_alphanumeric() { symbol } else { '_' };
    header.chars().map(plain).collect::<String>().to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_the_quotes() {
        assert_eq!(quoted("it's $(rm) `x`"), "'it'\\''s $(rm) `x`'");
        assert_eq!(variable("x-shop-token"), "X_SHOP_TOKEN");
    }
}

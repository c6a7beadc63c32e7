//! Shows JSON indented and highlighted, from the exact text: numbers, key order and escapes stay unchanged.

use std::fmt::Write;

use serde_json::value::RawValue;

use crate::{
    escape::{Layout, visible},
    sentence::Html,
};

/// Longer texts are truncated.
const MAX_SHOWN: usize = 256 * 1024;

/// Formats JSON with one member per line. Keys, strings and other values have classes.
pub fn pretty(json: &RawValue) -> Html {
    let mut out = String::with_capacity(json.get().len() * 2);
    let mut rest = json.get();
    let mut depth = 0;
    let mut is_cut = false;
    while let Some(symbol) = rest.chars().next() {
        if out.len() > MAX_SHOWN {
            is_cut = true;
            break;
        }
        match symbol {
            '"' => {
                let end = string_end(rest);
                let is_key = rest[end..].trim_start().starts_with(':');
                span(&mut out, if is_key { "k" } else { "s" }, &rest[..end]);
                rest = &rest[end..];
                continue;
            }
            '{' | '[' => {
                let close = if symbol == '{' { '}' } else { ']' };
                if let Some(after) = rest[1..].trim_start().strip_prefix(close) {
                    out.push(symbol);
                    out.push(close);
                    rest = after;
                    continue;
                }
                depth += 1;
                out.push(symbol);
                new_line(&mut out, depth);
            }
            '}' | ']' => {
                depth = usize::saturating_sub(depth, 1);
                new_line(&mut out, depth);
                out.push(symbol);
            }
            ',' => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            symbol if symbol.is_ascii_whitespace() => {}
            _ => {
                let is_end = |symbol: char| symbol.is_ascii_whitespace() || ",]}".contains(symbol);
                let end = rest.find(is_end).unwrap_or(rest.len());
                span(&mut out, "d", &rest[..end]);
                rest = &rest[end..];
                continue;
            }
        }
        rest = &rest[symbol.len_utf8()..];
    }
    if is_cut {
        out.push('…');
    }
    Html::trusted(out)
}

fn new_line(out: &mut String, depth: usize) {
    let _ = write!(out, "\n{:1$}", "", depth * 2);
}

fn span(out: &mut String, class: &str, text: &str) {
    let _ = write!(out, "<span class=\"{class}\">");
    for symbol in visible(text, Layout::Line).chars() {
        match symbol {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            symbol => out.push(symbol),
        }
    }
    out.push_str("</span>");
}

/// Returns where the string at the start of the text ends, after its closing quote.
fn string_end(text: &str) -> usize {
    let mut is_escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str) -> String {
        pretty(&RawValue::from_string(json.to_owned()).unwrap()).to_string()
    }

    #[test]
    fn the_exact_text_is_shown() {
        assert_eq!(
            shown(r#"{"b":1.50e+3,"a":["x\"<\u0041",{}, []],"c":null}"#),
            "{\n  <span class=\"k\">\"b\"</span>: <span class=\"d\">1.50e+3</span>,\n  \
             <span class=\"k\">\"a\"</span>: [\n    <span class=\"s\">\"x\\\"&lt;\\u0041\"</span>,\n    \
             {},\n    []\n  ],\n  <span class=\"k\">\"c\"</span>: <span class=\"d\">null</span>\n}"
        );
    }

    #[test]
    fn hidden_characters_are_shown() {
        assert_eq!(shown("\"a\u{202e}b\""), "<span class=\"s\">\"a\\u{202e}b\"</span>");
    }
}

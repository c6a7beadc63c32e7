//! A text of the catalog with its placeholders filled, as escaped HTML.

use std::fmt::{self, Write};

use askama::filters::HtmlSafe;

use crate::escape;

/// A text with `{placeholders}`, and `**` around emphasized parts. Displays as HTML.
#[derive(Debug, Clone)]
pub struct Sentence {
    pattern: &'static str,
    values: Vec<(&'static str, Html)>,
}

/// Escaped HTML.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Html(String);

impl Html {
    pub fn text(text: impl fmt::Display) -> Self {
        Self(escape::html(&text.to_string()))
    }

    /// For markup that this crate itself created, with everything from outside escaped.
    pub fn trusted(html: String) -> Self {
        Self(html)
    }

    pub fn code(text: impl fmt::Display) -> Self {
        Self(format!("<code>{}</code>", Self::text(text)))
    }

    pub fn link(href: impl fmt::Display, label: impl fmt::Display) -> Self {
        Self(format!("<a href=\"{}\">{}</a>", Self::text(href), Self::text(label)))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Html {}

impl From<Sentence> for Html {
    fn from(sentence: Sentence) -> Self {
        Self(sentence.to_string())
    }
}

impl Sentence {
    pub fn new(pattern: &'static str) -> Self {
        Self { pattern, values: Vec::new() }
    }

    /// Fills a placeholder with text.
    #[must_use]
    pub fn with(self, name: &'static str, value: impl fmt::Display) -> Self {
        self.html(name, Html::text(value))
    }

    #[must_use]
    pub fn code(self, name: &'static str, value: impl fmt::Display) -> Self {
        self.html(name, Html::code(value))
    }

    #[must_use]
    pub fn link(
        self,
        name: &'static str,
        href: impl fmt::Display,
        label: impl fmt::Display,
    ) -> Self {
        self.html(name, Html::link(href, label))
    }

    #[must_use]
    pub fn html(mut self, name: &'static str, value: Html) -> Self {
        self.values.push((name, value));
        self
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut is_strong = false;
        let mut rest = self.pattern;
        while let Some(at) = rest.find(['{', '*']) {
            f.write_str(&escape::html(&rest[..at]))?;
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix("**") {
                f.write_str(if is_strong { "</strong>" } else { "<strong>" })?;
                is_strong = !is_strong;
                rest = after;
            } else if let Some((name, after)) =
                rest.strip_prefix('{').and_then(|inner| inner.split_once('}'))
            {
                match self.values.iter().find(|(known, _)| *known == name) {
                    Some((_, value)) => write!(f, "{value}")?,
                    None => write!(f, "{{{name}}}")?,
                }
                rest = after;
            } else {
                f.write_char('*')?;
                rest = &rest[1..];
            }
        }
        f.write_str(&escape::html(rest))
    }
}

impl HtmlSafe for Sentence {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_escaped() {
        let sentence = Sentence::new("**{n} of {total}** sent to {name} & kept");
        let sentence = sentence.with("n", 1).with("total", 2).code("name", "<b>\u{202e}");
        assert_eq!(
            sentence.to_string(),
            "<strong>1 of 2</strong> sent to <code>&lt;b&gt;\\u{202e}</code> &amp; kept"
        );
    }
}

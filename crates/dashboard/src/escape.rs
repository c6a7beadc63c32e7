//! Makes text from outside harmless: escapes markup, and shows deceptive characters.

use std::{borrow::Cow, fmt, fmt::Write};

use serde::{Deserialize, Deserializer};

/// Escapes text for HTML and for quoted attributes, and shows hidden characters.
pub fn html(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 16);
    for symbol in visible(text, Layout::Line).chars() {
        match symbol {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            symbol => html.push(symbol),
        }
    }
    html
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One line: line breaks and tabs are shown as escapes.
    Line,
    /// A block: line breaks and tabs stay.
    Block,
}

/// Shows control characters and those that reorder or hide text as escapes.
pub fn visible(text: &str, layout: Layout) -> Cow<'_, str> {
    let is_hidden = |symbol: char| match symbol {
        '\n' | '\t' => layout == Layout::Line,
        '\u{061c}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => true,
        symbol => symbol.is_control(),
    };
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut symbols = text.chars().peekable();
    let mut before = ' ';
    while let Some(symbol) = symbols.next() {
        let last = std::mem::replace(&mut before, symbol);
        match symbol {
            // They join emoji, and letters of some scripts; between others they are hidden.
            '\u{200c}' | '\u{200d}'
                if is_joined(last) && symbols.peek().copied().is_some_and(is_joined) =>
            {
                shown.push(symbol);
            }
            '\n' if is_hidden(symbol) => shown.push_str("\\n"),
            '\t' if is_hidden(symbol) => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            symbol if is_hidden(symbol) => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(symbol));
            }
            symbol => shown.push(symbol),
        }
    }
    Cow::Owned(shown)
}

/// Whether joiners are usual next to it: emoji and their modifiers, Arabic, Persian, and the scripts of
/// India.
fn is_joined(symbol: char) -> bool {
    matches!(symbol, '\u{0600}'..='\u{0dff}' | '\u{2190}'..='\u{2bff}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

/// Text from outside, for one line of a page. Hidden characters are made visible when it is created, so that
/// no template can forget it; templates escape the markup.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(String);

impl Text {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(visible(text, Layout::Line).into_owned())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Ok(Self::from(&*text))
    }
}

/// Text from outside for a block of lines, such as a body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block(pub String);

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&self.0, Layout::Block))
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown() {
        assert_eq!(visible("a\u{202e}b\u{0}\r\nc", Layout::Block), "a\\u{202e}b\\u{0}\\r\nc");
        assert_eq!(visible("a\tb\nc", Layout::Line), "a\\tb\\nc");
        assert!(matches!(visible("São Paulo 東京", Layout::Line), Cow::Borrowed(_)));
        for joined in ["\u{1f469}\u{200d}\u{1f4bb}", "\u{0645}\u{06cc}\u{200c}\u{062e}"] {
            assert_eq!(visible(joined, Layout::Line), joined);
        }
        assert_eq!(visible("pay\u{200d}pal \u{200d}", Layout::Line), "pay\\u{200d}pal \\u{200d}");
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(html("<a href='x'>\"&"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;");
    }
}

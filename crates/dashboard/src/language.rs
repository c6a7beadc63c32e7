//! The languages of the pages.

use http::{HeaderMap, header};

use crate::cookies;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    English,
    Portuguese,
    Spanish,
}

impl Language {
    pub const ALL: [Self; 3] = [Self::English, Self::Portuguese, Self::Spanish];

    /// Returns the tag in HTML and in URLs.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Portuguese => "pt",
            Self::Spanish => "es",
        }
    }

    /// Returns its name in the language itself.
    pub const fn name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::Portuguese => "Português",
            Self::Spanish => "Español",
        }
    }

    pub const fn thousands(self) -> char {
        match self {
            Self::English => ',',
            Self::Portuguese | Self::Spanish => '.',
        }
    }

    pub const fn decimal(self) -> char {
        match self {
            Self::English => '.',
            Self::Portuguese | Self::Spanish => ',',
        }
    }

    pub fn of_tag(tag: &str) -> Option<Self> {
        let primary = tag.split(['-', '_']).next().unwrap_or_default();
        Self::ALL.into_iter().find(|language| language.tag().eq_ignore_ascii_case(primary))
    }

    /// Returns the language of a page: the chosen one, or the first that the browser accepts.
    pub fn of(headers: &HeaderMap) -> Self {
        let chosen = cookies::read(headers, cookies::LANGUAGE).and_then(Self::of_tag);
        let accepted =
            || headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        chosen.unwrap_or_else(|| Self::accepted(accepted().unwrap_or_default()))
    }

    /// Returns the best language for an `Accept-Language` header; English if none fits.
    pub fn accepted(header: &str) -> Self {
        let mut best = (0.0, Self::English);
        for item in header.split(',') {
            let (tag, parameter) = item.split_once(';').unwrap_or((item, "q=1"));
            let weight = parameter.trim().strip_prefix("q=").and_then(|q| q.parse().ok());
            let weight: f32 = weight.unwrap_or(0.0);
            if let Some(language) = Self::of_tag(tag.trim())
                && weight > best.0
            {
                best = (weight, language);
            }
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use super::Language::{self, English, Portuguese, Spanish};

    #[test]
    fn the_heaviest_supported_language_wins() {
        for (header, language) in [
            ("", English),
            ("de", English),
            ("pt-BR", Portuguese),
            ("de-AT, es;q=0.8, pt;q=0.9", Portuguese),
            ("es-419,en;q=0.5", Spanish),
            ("fr;q=1, en;q=nonsense, es;q=0.1", Spanish),
        ] {
            assert_eq!(Language::accepted(header), language, "{header}");
        }
    }
}

//! Light, dark, or what the system prefers.

use http::HeaderMap;

use crate::cookies;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

impl Theme {
    pub const ALL: [Self; 3] = [Self::System, Self::Light, Self::Dark];

    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    pub fn is_chosen(self) -> bool {
        self != Self::System
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|theme| theme.name() == name)
    }

    pub fn of(headers: &HeaderMap) -> Self {
        cookies::read(headers, cookies::THEME).and_then(Self::named).unwrap_or_default()
    }
}

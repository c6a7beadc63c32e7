//! What a credential may be used for, and what an operation requires.

use std::{fmt, str::FromStr};

/// A right of a key. No right includes another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    Publish,
    Read,
    Manage,
}

impl Right {
    pub const ALL: [Self; 3] = [Self::Publish, Self::Read, Self::Manage];
    pub const NAMES: &'static [&'static str] = &["publish", "read", "manage"];

    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Right {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|right| right.name() == name);
        found.ok_or_else(|| "unknown scope; use `publish`, `read` or `manage`".to_owned())
    }
}

/// A set of rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rights(u8);

impl Rights {
    pub const ALL: Self = Self(0b111);

    #[must_use]
    pub const fn with(self, right: Right) -> Self {
        Self(self.0 | 1 << right as u8)
    }

    pub const fn has(self, right: Right) -> bool {
        self.0 & 1 << right as u8 != 0
    }

    pub fn names(self) -> Vec<&'static str> {
        Right::ALL.into_iter().filter(|right| self.has(*right)).map(Right::name).collect()
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u8) -> Option<Self> {
        if bits & !Self::ALL.0 == 0 { Some(Self(bits)) } else { None }
    }
}

impl FromIterator<Right> for Rights {
    fn from_iter<I: IntoIterator<Item = Right>>(rights: I) -> Self {
        rights.into_iter().fold(Self::default(), Self::with)
    }
}

/// What an operation requires of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The operator of the gateway.
    Operator,
    /// An API key with this scope, or the operator acting for a tenant.
    Tenant(Right),
    /// An API key with this scope, or the operator for all tenants.
    Anyone(Right),
    /// A portal link with this scope, or the operator acting for a tenant. Not an API key, because what is
    /// made with a leaked one would outlive it.
    Person(Right),
}

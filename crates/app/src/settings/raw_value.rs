//! A value as it was set, before it is parsed.

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawValue {
    One(String),
    /// An array of a file.
    Many(Vec<String>),
}

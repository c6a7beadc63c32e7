//! Lists come in pages, newest first, each saying where the next begins.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    pub most: usize,
    /// The place of the last row of the page before.
    pub after: Option<[u8; 32]>,
}

impl PageRequest {
    pub fn first(most: usize) -> Self {
        Self { most, after: None }
    }
}

/// A page is a bounded look: it may hold fewer rows than were asked for, even none, and still have a
/// next. The list ends where there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    pub rows: Vec<T>,
    /// Opaque. Sealed to the tenant and the filter by whoever shows it to a caller.
    pub next: Option<[u8; 32]>,
}

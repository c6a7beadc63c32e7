//! Pages of lists, each with the position of the next: newest first, as people read them, or oldest first, as
//! they are sent again.

/// Maximum bytes of bodies in a page, unless its first row alone has more.
pub const MAX_PAGE_BYTES: usize = 1 << 20;

/// Which end of a list its first page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListOrder {
    #[default]
    NewestFirst,
    OldestFirst,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    pub max: usize,
    /// The position of the last row of the page before. It belongs to one list, with one filter and one
    /// order.
    pub after: Option<[u8; 32]>,
    pub order: ListOrder,
    /// Maximum bytes of bodies, at most [`MAX_PAGE_BYTES`].
    pub max_bytes: usize,
}

impl PageRequest {
    pub fn first(max: usize) -> Self {
        Self::new(max, None)
    }

    /// Requests a page, newest first.
    pub fn new(max: usize, after: Option<[u8; 32]>) -> Self {
        Self { max, after, order: ListOrder::NewestFirst, max_bytes: MAX_PAGE_BYTES }
    }

    #[must_use]
    pub fn in_order(self, order: ListOrder) -> Self {
        Self { order, ..self }
    }

    /// Ends the page before it has more bytes of bodies than this, unless its first row alone does.
    #[must_use]
    pub fn within(self, max_bytes: usize) -> Self {
        Self { max_bytes: max_bytes.min(MAX_PAGE_BYTES), ..self }
    }
}

/// A page scans a bounded number of rows: it may have fewer rows than requested, even none, and still have a
/// next one. The list ends if there is no next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    pub rows: Vec<T>,
    /// The position of the next page. Opaque: the API binds it to the tenant and the filter before a caller
    /// sees it.
    pub next: Option<[u8; 32]>,
}

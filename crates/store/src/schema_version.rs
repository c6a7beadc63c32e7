//! How far a database was migrated.

/// The number of migrations of a database, and of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaVersion {
    /// 0 for a database that is empty or does not exist.
    pub found: u32,
    pub known: u32,
}

impl SchemaVersion {
    pub fn is_current(self) -> bool {
        self.found == self.known
    }
}

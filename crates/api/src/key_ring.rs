//! The keys that secrets are sealed with, as far as the API works with them.

use async_trait::async_trait;

/// Whoever keeps the key ring: knows its file, and the records that are sealed with it.
#[async_trait]
pub trait KeyRingService: Send + Sync {
    /// Adds a key to the ring if `new_key`, and seals everything with the newest.
    async fn rotate(&self, new_key: bool) -> Result<Rotation, String>;

    async fn keys(&self) -> Result<Vec<KeyUse>, String>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotation {
    /// The number of the key that seals from now on.
    pub newest: u32,
    /// How many records were sealed anew.
    pub resealed: u64,
    pub keys: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUse {
    pub number: u32,
    /// How many records are sealed with it.
    pub records: u64,
}

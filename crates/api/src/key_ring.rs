//! The keys that encrypt stored secrets, as far as the API manages them.

use async_trait::async_trait;

/// Manages the key ring: its file, and the secrets encrypted with it.
#[async_trait]
pub trait KeyRingService: Send + Sync {
    /// Adds a key to the ring if `new_key`, then re-encrypts all secrets with the newest key.
    async fn rotate(&self, new_key: bool) -> Result<Rotation, String>;

    async fn keys(&self) -> Result<Vec<KeyUse>, String>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotation {
    /// Number of the key that encrypts new secrets.
    pub newest: u32,
    /// Number of secrets that were re-encrypted.
    pub resealed: u64,
    pub keys: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyUse {
    pub number: u32,
    /// Number of secrets that are encrypted with it.
    pub records: u64,
}

//! How full the disk of the data directory is.

use std::path::Path;

pub struct Disk {
    pub free: u64,
    /// The size that can be used.
    pub size: u64,
}

impl Disk {
    /// Reads the figures; `None` if the directory cannot be read.
    pub fn read(folder: &Path) -> Option<Self> {
        let disk = rustix::fs::statvfs(folder).ok()?;
        // As `df` counts: blocks that are reserved for the system can never be used.
        let usable = disk.f_blocks.saturating_sub(disk.f_bfree) + disk.f_bavail;
        Some(Self { free: disk.f_bavail * disk.f_frsize, size: usable * disk.f_frsize })
    }

    /// Returns the used share.
    pub fn used(&self) -> f64 {
        1.0 - self.free as f64 / self.size.max(1) as f64
    }
}

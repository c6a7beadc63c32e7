//! How full the disk of the data directory is.

use std::path::Path;

pub struct Disk {
    pub free: u64,
    pub size: u64,
}

impl Disk {
    /// `None` if the directory cannot be looked at.
    pub fn read(folder: &Path) -> Option<Self> {
        let disk = rustix::fs::statvfs(folder).ok()?;
        Some(Self { free: disk.f_bavail * disk.f_frsize, size: disk.f_blocks * disk.f_frsize })
    }
}

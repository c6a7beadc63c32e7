//! Files that only their owner may read. A power failure during a write leaves the old or the new file, never
//! a part.

use std::{
    fs::{DirBuilder, File, OpenOptions, Permissions},
    io::{ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use anyhow::{Context, bail};

const OWNER_ONLY: u32 = 0o600;

/// Returns the file's text, trimmed. Creates the file with the result of `make` if it does not exist. Two
/// processes that start at once agree on the first one's content.
pub fn read_or_make(
    path: &Path,
    make: impl FnOnce() -> anyhow::Result<String>,
) -> anyhow::Result<(String, Creation)> {
    if let Some(text) = read(path)? {
        return Ok((text, Creation::Before));
    }
    let text = make()?;
    let folder = folder_of(path);
    let mut new = tempfile::Builder::new()
        .permissions(Permissions::from_mode(OWNER_ONLY))
        .tempfile_in(folder)
        .with_context(|| format!("cannot write to the directory {}", folder.display()))?;
    new.write_all(text.as_bytes())?;
    new.as_file().sync_all()?;
    // It appears complete, and only if no other process was faster.
    match new.persist_noclobber(path) {
        Ok(_) => {
            sync_folder(folder)?;
            Ok((text, Creation::Now))
        }
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
            let text = read(path)?
                .with_context(|| format!("{} was removed concurrently", path.display()))?;
            Ok((text, Creation::Before))
        }
        Err(error) => Err(error.error).with_context(|| format!("cannot create {}", path.display())),
    }
}

/// Creates the data directory for its owner alone, if it does not exist.
pub fn folder(path: &Path) -> anyhow::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(|| format!("cannot create the directory {}", path.display()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creation {
    Now,
    Before,
}

/// Returns the text; `None` if the file does not exist. Refuses a file that its group or others may read,
/// because its content is no secret.
pub fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let mode = file.metadata()?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        bail!(
            "{} is accessible by its group or others (mode {mode:o}). hint: run `chmod 600 {}`",
            path.display(),
            path.display()
        );
    }
    let text =
        std::io::read_to_string(file).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Some(text))
}

/// Replaces the old text by a new one atomically.
pub fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = folder_of(path);
    // A fixed name, so that the next write replaces what a kill has left behind.
    let beside = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(OWNER_ONLY)
        .open(&beside)
        .with_context(|| format!("cannot write {}", beside.display()))?;
    file.set_permissions(Permissions::from_mode(OWNER_ONLY))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&beside, path).with_context(|| format!("cannot replace {}", path.display()))?;
    sync_folder(folder)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn sync_folder(folder: &Path) -> anyhow::Result<()> {
    File::open(folder)?.sync_all().with_context(|| format!("cannot fsync {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn made_once_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        assert_eq!(read_or_make(&path, || Ok("a".into())).unwrap(), ("a".into(), Creation::Now));
        assert_eq!(mode(&path), 0o600);
        assert_eq!(read_or_make(&path, || Ok("b".into())).unwrap(), ("a".into(), Creation::Before));
        replace(&path, "c").unwrap();
        assert_eq!((read(&path).unwrap().unwrap().as_str(), mode(&path)), ("c", 0o600));
        // faults.md 25: neither others nor the group.
        for open in [0o604, 0o640, 0o660, 0o620] {
            std::fs::set_permissions(&path, Permissions::from_mode(open)).unwrap();
            let refusal = read(&path).unwrap_err().to_string();
            assert!(refusal.contains("chmod 600"), "{refusal}");
        }
        std::fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("c"));
    }
}

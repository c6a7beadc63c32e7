//! The files: written atomically, never overwritten, and verified with the gateway's keys.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use gancho_ledger::Checkpoint;

use super::{CheckpointSettings, CheckpointerError, name};
use crate::SigningKeys;

/// The extension of complete files. Files with others are ignored.
const WHOLE: &str = "txt";
const UNFINISHED: &str = "tmp";
/// Maximum number of checkpoints of the same size.
const MAX_COPIES: u32 = 1_000;

/// Writes a checkpoint. Uses a temporary name first, so that an interrupted process leaves nothing that looks
/// like a checkpoint. Never overwrites a file: a checkpoint of the same size gets another name.
pub(super) fn write(folder: &Path, size: u64, note: &str) -> Result<(), CheckpointerError> {
    let error = |error| CheckpointerError::File(folder.to_owned(), error);
    fs::create_dir_all(folder).map_err(error)?;
    let (unfinished, mut file) = first_free(folder, size, UNFINISHED, |path| {
        OpenOptions::new().write(true).create_new(true).open(path)
    })?;
    let written = file
        .write_all(note.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|error| CheckpointerError::File(unfinished.clone(), error))
        // Unlike a rename, a link fails if the name exists.
        .and_then(|()| first_free(folder, size, WHOLE, |path| fs::hard_link(&unfinished, path)));
    // A temporary file that stays is ignored.
    let _ = fs::remove_file(&unfinished);
    written?;
    // The directory entry must be fsynced as well.
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(error)
}

/// Returns the first free name for this size.
fn first_free<T>(
    folder: &Path,
    size: u64,
    ending: &str,
    make: impl Fn(&Path) -> io::Result<T>,
) -> Result<(PathBuf, T), CheckpointerError> {
    for copy in 0..MAX_COPIES {
        let path = folder.join(match copy {
            0 => format!("{}.{ending}", name(size)),
            copy => format!("{}-{copy}.{ending}", name(size)),
        });
        match make(&path) {
            Err(taken) if taken.kind() == ErrorKind::AlreadyExists => {}
            Ok(there) => return Ok((path, there)),
            Err(error) => return Err(CheckpointerError::File(path, error)),
        }
    }
    let full = io::Error::other("too many checkpoints of one size");
    Err(CheckpointerError::File(folder.to_owned(), full))
}

/// Returns all existing checkpoints, with verified signatures.
pub fn on_file(
    settings: &CheckpointSettings,
    keys: &SigningKeys,
) -> Result<Vec<Checkpoint>, CheckpointerError> {
    let folder = &settings.folder;
    let entries = match fs::read_dir(folder) {
        Err(none) if none.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|error| CheckpointerError::File(folder.clone(), error))?,
    };
    let verifiers = keys.verifiers();
    let mut all = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| CheckpointerError::File(folder.clone(), error))?.path();
        if path.extension().is_none_or(|extension| extension != WHOLE) {
            continue;
        }
        let note = fs::read(&path).map_err(|error| CheckpointerError::File(path.clone(), error))?;
        let note = String::from_utf8_lossy(&note);
        let opened = verifiers.iter().find_map(|verifier| verifier.open(&note).ok());
        all.push(opened.ok_or(CheckpointerError::Foreign(path))?);
    }
    Ok(all)
}

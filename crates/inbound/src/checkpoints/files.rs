//! The files: written whole or not at all, never over one another, and opened with the gateway's keys.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

use gancho_ledger::Checkpoint;

use super::{CheckpointSettings, CheckpointerError, name};
use crate::SigningKeys;

/// What a file has at the end of its name once it is whole. Others are not looked at.
const WHOLE: &str = "txt";
const UNFINISHED: &str = "tmp";
/// So many of one size can stand beside each other.
const MOST_COPIES: u32 = 1_000;

/// Under another name first, so that a process that ends in the middle of it leaves nothing that would
/// be taken for a checkpoint. Never over one that is there: at most the same size is written beside it.
pub(super) fn write(folder: &Path, size: u64, note: &str) -> Result<(), CheckpointerError> {
    let fault = |fault| CheckpointerError::File(folder.to_owned(), fault);
    fs::create_dir_all(folder).map_err(fault)?;
    let (unfinished, mut file) = first_free(folder, size, UNFINISHED, |path| {
        OpenOptions::new().write(true).create_new(true).open(path)
    })?;
    let written = file
        .write_all(note.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|fault| CheckpointerError::File(unfinished.clone(), fault))
        // A link, unlike a new name, fails where something is.
        .and_then(|()| first_free(folder, size, WHOLE, |path| fs::hard_link(&unfinished, path)));
    // One that stays is not looked at.
    let _ = fs::remove_file(&unfinished);
    written?;
    // The name of the file has to be on disk too.
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(fault)
}

/// The first name of this size that nothing has, and what was made there.
fn first_free<T>(
    folder: &Path,
    size: u64,
    ending: &str,
    make: impl Fn(&Path) -> io::Result<T>,
) -> Result<(PathBuf, T), CheckpointerError> {
    for copy in 0..MOST_COPIES {
        let path = folder.join(match copy {
            0 => format!("{}.{ending}", name(size)),
            copy => format!("{}-{copy}.{ending}", name(size)),
        });
        match make(&path) {
            Err(taken) if taken.kind() == ErrorKind::AlreadyExists => {}
            Ok(there) => return Ok((path, there)),
            Err(fault) => return Err(CheckpointerError::File(path, fault)),
        }
    }
    let full = io::Error::other("too many checkpoints of one size");
    Err(CheckpointerError::File(folder.to_owned(), full))
}

/// All that were written here before, each with its signature checked.
pub fn on_file(
    settings: &CheckpointSettings,
    keys: &SigningKeys,
) -> Result<Vec<Checkpoint>, CheckpointerError> {
    let folder = &settings.folder;
    let entries = match fs::read_dir(folder) {
        Err(none) if none.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|fault| CheckpointerError::File(folder.clone(), fault))?,
    };
    let verifiers = keys.verifiers();
    let mut all = Vec::new();
    for entry in entries {
        let path = entry.map_err(|fault| CheckpointerError::File(folder.clone(), fault))?.path();
        if path.extension().is_none_or(|extension| extension != WHOLE) {
            continue;
        }
        let note = fs::read(&path).map_err(|fault| CheckpointerError::File(path.clone(), fault))?;
        let note = String::from_utf8_lossy(&note);
        let opened = verifiers.iter().find_map(|verifier| verifier.open(&note).ok());
        all.push(opened.ok_or(CheckpointerError::Foreign(path))?);
    }
    Ok(all)
}

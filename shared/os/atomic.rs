//! Replacing a file so that it holds the old bytes or the new ones at any moment.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::Error;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The regular file, where the target is a link to it.
    pub file: PathBuf,
    pub through_link: bool,
}

/// Write a new file beside the target, sync it, rename it over the target and sync the folder. A file that was there
/// keeps its mode bits. A link is followed if the link and its file belong to the caller.
///
/// # Errors
/// The step that failed, with the file's name. The target is untouched then.
pub fn write_beside(target: &Path, bytes: &[u8]) -> Result<Written, Error> {
    let (file, through_link) = behind_link(target)?;
    let mode = match std::fs::metadata(&file) {
        Ok(found) if !found.is_file() => {
            return Err(Error::fault(target, "it is not a regular file, so it is not replaced"));
        }
        Ok(found) => found.permissions().mode() & 0o7777,
        Err(_) => 0o644,
    };
    let exists = file.exists();
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if matches!(folder.try_exists(), Ok(false)) {
        return Err(Error::fault(target, format!("there is no folder {}; make it first", folder.display())));
    }
    let base = file.file_name().ok_or_else(|| Error::fault(target, "this names no file"))?;
    let base = base.to_string_lossy().into_owned();
    // the file that is named is the one that was given: of the other nobody knows
    let (mut out, beside) = create(|name| folder.join(format!(".{base}.{name}.mh-new")), mode)
        .map_err(|error| Error::by(target, "no new file can be made beside it", error))?;
    let written = (|| -> std::io::Result<()> {
        out.write_all(bytes)?;
        if exists {
            // the umask may have taken bits of `mode` away when the file was made
            out.set_permissions(std::fs::Permissions::from_mode(mode))?;
        }
        out.sync_all()?;
        std::fs::rename(&beside, &file)?;
        std::fs::File::open(folder)?.sync_all()
    })();
    written.map_err(|error| {
        let _ = std::fs::remove_file(&beside);
        Error::undone("cannot write", target, error)
    })?;
    Ok(Written { file, through_link })
}

const MOST_NAMES: u32 = 1000;

/// Make the new file, named by the number of this process. A process that was killed may have left a file of that name,
/// since numbers come round again in a container.
fn create(path: impl Fn(&str) -> PathBuf, mode: u32) -> std::io::Result<(std::fs::File, PathBuf)> {
    let mut tried = 0;
    loop {
        let own = std::process::id();
        let beside = path(&if tried == 0 { own.to_string() } else { format!("{own}-{tried}") });
        match std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside) {
            Ok(file) => return Ok((file, beside)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && tried < MOST_NAMES => tried += 1,
            Err(error) => return Err(error),
        }
    }
}

fn behind_link(target: &Path) -> Result<(PathBuf, bool), Error> {
    let Some(link) = std::fs::symlink_metadata(target).ok().filter(std::fs::Metadata::is_symlink) else {
        return Ok((target.into(), false));
    };
    if std::fs::read_link(target).is_ok_and(|leads| leads.starts_with("/proc")) || target.starts_with("/dev/fd") {
        return Err(Error::fault(target, "it is an open descriptor and no file of its own, so it cannot be replaced"));
    }
    let file =
        std::fs::canonicalize(target).map_err(|error| Error::by(target, "it is a link that leads nowhere", error))?;
    let me = rustix::process::geteuid().as_raw();
    let owner = std::fs::metadata(&file).map_err(|error| Error::by(target, "", error))?.uid();
    if link.uid() != me || owner != me {
        let what = format!("it is a link, and the link or its file {} is not yours", file.display());
        return Err(Error::fault(target, what));
    }
    Ok((file, true))
}

//! Writing a file so that at any moment it holds the old bytes or the new.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::Error;

/// Where bytes went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The file itself, behind a link if there was one.
    pub file: PathBuf,
    /// Whether a link was followed to it.
    pub through_link: bool,
}

/// Write to a file beside the target, sync it, rename it over the target, sync the folder. Mode
/// bits of a file that is there already are kept. A link is followed to its file if that is the
/// caller's own.
///
/// # Errors
/// What failed, naming the file. The target is untouched then.
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
            // the umask has had its say about `mode` above
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

/// How many names are tried for the new file.
const NAMES: u32 = 1000;

/// Make the new file, by the number of this process. One that was killed may have left that name: in a container, numbers
/// come round again.
fn create(path: impl Fn(&str) -> PathBuf, mode: u32) -> std::io::Result<(std::fs::File, PathBuf)> {
    let mut tried = 0;
    loop {
        let own = std::process::id();
        let beside = path(&if tried == 0 { own.to_string() } else { format!("{own}-{tried}") });
        match std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside) {
            Ok(file) => return Ok((file, beside)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && tried < NAMES => tried += 1,
            Err(error) => return Err(error),
        }
    }
}

/// The file that a path stands for.
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

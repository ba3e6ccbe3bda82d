//! `$CODEX_HOME/.env`: Codex first of all adds it to its environment, and so to that of every hook (release 0.171.0).

use std::path::Path;

use crate::os;
use crate::seal::Refusal;

/// The longest such file that is read, in bytes.
const LIMIT: usize = 1024 * 1024;

/// The beginning of names that Codex leaves out, in letters of either case.
const OWN: &str = "CODEX_";

/// The variables that Codex takes from this file, in its order: of a name that stands there twice, the last counts. A
/// missing file sets nothing. The reader is the one of the release (dotenvy 0.15.7): a line that it cannot read is
/// skipped, and the next one counts.
///
/// # Errors
/// The reason why the file cannot be read, so that its effect on Codex is unknown.
pub fn codex_env_file(path: &Path) -> Result<Vec<(String, String)>, String> {
    // Codex skips a file that it cannot open, and reads everything that it can open, even a FIFO
    if fs_err::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return Ok(Vec::new());
    }
    let bytes = os::read_bounded(path, LIMIT).map_err(|refusal| match refusal {
        Refusal::TooLarge => format!("more than {LIMIT} bytes"),
        refusal => refusal.to_string(),
    })?;
    let taken = dotenvy::from_read_iter(bytes.as_slice()).flatten();
    Ok(taken.filter(|(name, _)| !name.to_ascii_uppercase().starts_with(OWN)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_as_codex_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".env");
        assert_eq!(codex_env_file(&file), Ok(Vec::new()));
        for (text, taken) in [
            ("", &[][..]),
            ("BASH_ENV=/x\n", &[("BASH_ENV", "/x")]),
            ("export BASH_ENV=/x", &[("BASH_ENV", "/x")]),
            ("  export   BASH_ENV = '/x y' # why\n", &[("BASH_ENV", "/x y")]),
            ("# BASH_ENV=/x\nA=1\n", &[("A", "1")]),
            ("A='1\nBASH_ENV=/x\n'\n", &[("A", "1\nBASH_ENV=/x\n")]),
            // an unreadable line is skipped
            ("a line of words\nBASH_ENV=/x\n", &[("BASH_ENV", "/x")]),
            ("\u{feff}A=1\nBASH_ENV=/x\n", &[("BASH_ENV", "/x")]),
            ("A=1\nA=2\n", &[("A", "1"), ("A", "2")]),
            ("CODEX_HOME=/x\ncodex_home=/x\nB=1\n", &[("B", "1")]),
        ] {
            fs_err::write(&file, text).unwrap();
            let own = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
            assert_eq!(codex_env_file(&file), Ok(own(taken)), "{text:?}");
        }
        fs_err::write(&file, b"A=\xff\nBASH_ENV=/x\n").unwrap();
        assert_eq!(codex_env_file(&file).unwrap(), [("BASH_ENV".to_string(), "/x".to_string())]);
    }

    #[test]
    fn one_that_cannot_be_read_is_no_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        assert!(codex_env_file(folder.path()).unwrap_err().contains("folder"));
        let file = folder.path().join(".env");
        fs_err::os::unix::fs::symlink("/nowhere/at/all", &file).unwrap();
        assert!(codex_env_file(&file).unwrap_err().contains("no such file"));
    }
}

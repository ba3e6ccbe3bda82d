//! A scratch home that looks like a newcomer's: `/home/ada` on the pages.

use fs_err as fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The home, as the pages have it.
pub const ADA: &str = "/home/ada";

/// The checkout in that home: what a clone makes.
const CHECKOUT: &str = "metaharness-hooks";

/// How long a page may take, unless told otherwise.
const LIMIT: Duration = Duration::from_secs(240);

/// What of a checkout the pages use.
const OF_THE_CHECKOUT: [&str; 7] =
    ["install.sh", "Cargo.toml", "CHANGELOG.md", "fixtures", "tests/release", "shared/clients", "docs"];

/// Where the commands of one page run.
pub struct Place {
    pub home: PathBuf,
    /// Besides HOME, PATH, USER and LANG.
    pub env: Vec<(String, String)>,
    /// How long a page may take.
    pub limit: Duration,
}

impl Place {
    /// Lays a home out in this folder: the programs, from `built`, in `~/.local/bin`, frames to start from, a project
    /// `~/site`, and a checkout whose `cargo` hands out the same programs.
    ///
    /// # Errors
    /// The file that could not be made.
    pub fn new(home: &Path, built: &Path, root: &Path) -> io::Result<Place> {
        let home = fs::canonicalize(home)?;
        let place = Place { home, env: Vec::new(), limit: LIMIT };
        for folder in [".local/bin", ".cargo/bin", "site/.git", "site/src", "site/docs", "frames"] {
            fs::create_dir_all(place.at(folder))?;
        }
        let mut programs = Vec::new();
        for source in fs::read_dir(root.join("bins"))? {
            let name = source?.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let to = place.at(".local/bin").join(&name);
            fs::hard_link(built.join(&name), &to).or_else(|_| fs::copy(built.join(&name), &to).map(drop))?;
            programs.push(name);
        }
        copied(&root.join("fixtures/frames"), &place.at(".local/share/metaharness/frames"))?;
        for part in OF_THE_CHECKOUT {
            if root.join(part).exists() {
                copied(&root.join(part), &place.at(CHECKOUT).join(part))?;
            }
        }
        for (name, text) in [
            ("README.md", "# Site\n"),
            ("CHANGELOG.md", "# Changes\n\n## 1.1\n\nDates are checked.\n"),
            ("src/a.rs", "fn main() {}\n"),
            ("docs/a.md", "# A\n"),
        ] {
            fs::write(place.at("site").join(name), text)?;
        }
        // what a build comes to, without a build: the programs that are under test
        let copies = format!(
            "#!/bin/sh\nwhile [ \"$1\" != --target ]; do shift; done\nmkdir -p \"$4/$2/try\"\ncd \"$HOME/.local/bin\" && cp {} \
             \"$4/$2/try\"\n",
            programs.join(" ")
        );
        place.program(".cargo/bin/cargo", &copies)?;
        place.program(
            ".cargo/bin/rustc",
            "#!/bin/sh\necho 'rustc 1.95.0 (0 2026-01-01)'\necho 'host: this-machine'\n",
        )?;
        place.program(&format!("{CHECKOUT}/tests/release/build"), "#!/bin/sh\necho \"$HOME/.local/bin\"\n")?;
        Ok(place)
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// A program in the home.
    ///
    /// # Errors
    /// That it could not be written.
    pub fn program(&self, name: &str, text: &str) -> io::Result<()> {
        fs::write(self.at(name), text)?;
        fs::set_permissions(self.at(name), std::fs::Permissions::from_mode(0o755))
    }

    /// A vendor's program, by its name in `~/.local/bin`.
    ///
    /// # Errors
    /// That the link could not be made.
    pub fn vendor(&self, name: &str, program: &Path) -> io::Result<()> {
        fs_err::os::unix::fs::symlink(program, self.at(".local/bin").join(name))
    }

    /// PATH: the home's programs, and of the machine's folders those that hold no vendor.
    pub(crate) fn path(&self) -> String {
        let machine = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        let vendor = |folder: &PathBuf| ["claude", "codex"].iter().any(|name| folder.join(name).exists());
        let own = [self.at(".local/bin"), self.at(".cargo/bin")];
        let all: Vec<PathBuf> =
            own.into_iter().chain(std::env::split_paths(&machine).filter(|folder| !vendor(folder))).collect();
        std::env::join_paths(all).unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The text of a page as it is here: the real home for [`ADA`].
    pub fn real(&self, text: &str) -> String {
        text.replace(ADA, &self.home.to_string_lossy())
    }

    /// An output as a page shows it.
    pub fn shown(&self, text: &str) -> String {
        text.replace(&*self.home.to_string_lossy(), ADA)
    }
}

fn copied(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        fs::create_dir_all(to.parent().unwrap_or(to))?;
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copied(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

//! The effects of install.sh, its refusals, and the content of a release.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fs_err as fs;
use fs_err::os::unix::fs::symlink;

const PROGRAMS: [&str; 6] =
    ["mh-hook-claude", "mh-hook-codex", "mh-frame-seal", "mh-frame-verify", "mh-setup", "mh-run"];

/// One program's man page and completions in the places in which readers look.
const PAGES: [&str; 4] = [
    "man/man1/mh-run.1",
    "bash-completion/completions/mh-run",
    "zsh/site-functions/_mh-run",
    "fish/vendor_completions.d/mh-run.fish",
];

/// A program of the checkout with a prefix and a home of its own; the toolchain is the caller's.
fn start(scratch: &Path, program: impl AsRef<Path>) -> Command {
    let home = std::env::var_os("HOME").unwrap();
    let own = |variable: &str, folder: &str| std::env::var_os(variable).unwrap_or(Path::new(&home).join(folder).into());
    fs::create_dir_all(scratch.join("home")).unwrap();
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join(program));
    command
        .env("CARGO_HOME", own("CARGO_HOME", ".cargo"))
        .env("RUSTUP_HOME", own("RUSTUP_HOME", ".rustup"))
        .env("HOME", scratch.join("home"))
        .env("PREFIX", scratch.join("prefix"))
        // this must not undo the static build
        .env("RUSTFLAGS", "-Cdebuginfo=0")
        .env_remove("CODEX_HOME")
        .env_remove("CLAUDE_CONFIG_DIR");
    command
}

fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Run install.sh, which must succeed.
fn install(scratch: &Path, arguments: &[&str]) -> Output {
    done(start(scratch, "install.sh").args(arguments))
}

/// The command ends with 1, and its message holds these words.
fn refused(command: &mut Command, says: &str) {
    ends(command, 1, says);
}

fn ends(command: &mut Command, code: i32, says: &str) {
    let output = command.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains(says), "{command:?}: {error}");
    assert_eq!(output.status.code(), Some(code), "{command:?}: {error}");
}

/// Programs of an earlier installation, each of which prints "old".
fn install_old(scratch: &Path) {
    let bin = scratch.join("prefix/bin");
    fs::create_dir_all(&bin).unwrap();
    for program in PROGRAMS {
        fs::write(bin.join(program), "old").unwrap();
    }
}

/// Whether exactly the old programs are installed.
fn is_old(scratch: &Path) -> bool {
    let bin = scratch.join("prefix/bin");
    let old = PROGRAMS.iter().all(|program| fs::read(bin.join(program)).unwrap() == b"old");
    old && fs::read_dir(bin).unwrap().count() == PROGRAMS.len()
}

/// Whether an ELF file requests an interpreter: it has a program header of type 3 (ELF-64, PT_INTERP).
fn has_interpreter(program: &[u8]) -> bool {
    let number = |at: usize, size: usize| {
        program[at..at + size].iter().rev().fold(0usize, |number, byte| number << 8 | usize::from(*byte))
    };
    assert_eq!(&program[..5], b"\x7fELF\x02");
    let (table, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    (0..count).any(|header| number(table + header * size, 4) == 3)
}

#[test]
#[ignore = "builds the release programs, which takes minutes; .ci/run runs it"]
fn what_is_installed_is_static_works_twice_and_goes_away() {
    let scratch = tempfile::tempdir().unwrap();
    let bin = scratch.path().join("prefix/bin");
    let first = install(scratch.path(), &[]);
    let second = install(scratch.path(), &[]);
    assert_eq!(first.stdout, second.stdout);
    for program in PROGRAMS {
        let bytes = fs::read(bin.join(program)).unwrap();
        assert_eq!(has_interpreter(&bytes), !cfg!(target_os = "linux"), "{program}");
        let said = Command::new(bin.join(program)).arg("--version").output().unwrap();
        assert_eq!(String::from_utf8(said.stdout).unwrap(), format!("{program} {}\n", env!("CARGO_PKG_VERSION")));
    }
    let printed = String::from_utf8(first.stdout).unwrap();
    let setup = bin.join("mh-setup");
    for line in ["claude --project . --frame", "codex --frame", "doctor"] {
        assert!(printed.contains(&format!("\n  {} {line}", setup.display())), "{line} in {printed}");
    }
    // and the frame that the commands name exists, sealed
    let frame = scratch.path().join("prefix/share/metaharness/frames/read-only.json");
    assert!(Command::new(bin.join("mh-frame-verify")).arg("--status").arg(frame).status().unwrap().success());

    let share = scratch.path().join("prefix/share");
    let pages = || PAGES.iter().filter(|page| share.join(page).is_file()).count();
    assert_eq!(pages(), PAGES.len());

    let settings = scratch.path().join("home/.claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, format!("{{\"hooks\": \"{}\"}}", bin.join("mh-hook-claude").display())).unwrap();
    install(scratch.path(), &["--uninstall"]);
    assert!(PROGRAMS.iter().all(|program| !bin.join(program).exists()));
    assert_eq!(pages(), 0);
    assert!(settings.exists());
}

/// The release of this checkout in the folder `release`, with SHA256SUMS beside it, and its path.
fn release(scratch: &Path) -> PathBuf {
    let folder = scratch.join("release");
    done(start(scratch, "tests/release/run").arg("--out").arg(&folder));
    let tarball = |entry: fs::DirEntry| entry.path().extension().is_some_and(|end| end == "gz").then(|| entry.path());
    fs::read_dir(&folder).unwrap().find_map(|entry| tarball(entry.unwrap())).unwrap()
}

#[test]
#[ignore = "builds the release programs, which takes minutes; .ci/run runs it"]
fn a_release_is_what_a_checkout_installs() {
    let scratch = tempfile::tempdir().unwrap();
    // a release in the checkout would be a change that the next release reports
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    refused(start(scratch.path(), "tests/release/run").args(["--out", tests]), "is in the checkout");
    let release = release(scratch.path());
    let checkout = tempfile::tempdir().unwrap();
    let from_checkout = install(checkout.path(), &[]);
    let from_release = install(scratch.path(), &["--from", release.to_str().unwrap()]);
    let bytes = |home: &Path, program: &str| fs::read(home.join("prefix/bin").join(program)).unwrap();
    for program in PROGRAMS {
        assert!(bytes(checkout.path(), program) == bytes(scratch.path(), program), "{program}");
    }
    let page = |home: &Path, page: &str| fs::read(home.join("prefix/share").join(page)).unwrap();
    for name in PAGES {
        assert!(page(checkout.path(), name) == page(scratch.path(), name), "{name}");
    }
    let said =
        |output: Output, home: &Path| String::from_utf8(output.stdout).unwrap().replace(home.to_str().unwrap(), "HOME");
    let hashless = |text: String| text.lines().filter(|line| !line.contains("trusted_hash")).collect::<String>();
    // Codex's trust also depends on the path of the file
    assert_eq!(hashless(said(from_checkout, checkout.path())), hashless(said(from_release, scratch.path())));

    // a pin needs no list, and may be in capitals
    let list = fs::read_to_string(release.with_file_name("SHA256SUMS")).unwrap();
    fs::remove_file(release.with_file_name("SHA256SUMS")).unwrap();
    let pin = list.split(' ').next().unwrap().to_uppercase();
    install_old(scratch.path());
    install(scratch.path(), &["--from", release.to_str().unwrap(), "--sha256", &pin]);
    assert!(!is_old(scratch.path()));
    let tried = install(scratch.path(), &["--from", release.to_str().unwrap(), "--sha256", &pin, "--try"]);
    let tried = String::from_utf8(tried.stdout).unwrap();
    assert_eq!((tried.matches("[exit 0]").count(), tried.matches("[exit 2]").count()), (4, 2), "{tried}");
    // its content can be unpacked by hand, but has no source to build
    let unpack = format!("cd '{0}' && tar -xzf *.gz && cp */install.sh .", scratch.path().join("release").display());
    done(Command::new("sh").args(["-c", &unpack]));
    refused(
        &mut start(scratch.path(), scratch.path().join("release/install.sh")),
        "no source beside this script; --from",
    );
}

/// A damage to a release in a folder of its own, with the message that follows. `$T` is the tarball, `$D` its one
/// folder.
const DAMAGES: [(&str, &str); 18] = [
    ("rm SHA256SUMS", "there is no "),
    ("sed -i s/metaharness/other/ SHA256SUMS", "has no line for metaharness-hooks-"),
    ("printf x >>$T", "has the sum "),
    ("head -c 100000 $T >t && mv t $T", "has the sum "),
    ("head -c 100000 $T >t && mv t $T && sum", "it is cut short, or no release"),
    ("head -c 100000 /dev/zero >$T && sum", "it is cut short, or no release"),
    ("rm $D/bin/mh-run && inside && pack && sum", "has no mh-run"),
    ("printf x >>$D/bin/mh-run && pack && sum", "bin/mh-run in "),
    ("sed -i 's/deny/allow/' $D/README.md && pack && sum", "README.md in "),
    ("echo >$D/more && pack && sum", "does not name just what is in it"),
    ("rm $D/README.md && pack && sum", "does not name just what is in it"),
    ("rm $D/SHA256SUMS && pack && sum", "there is no SHA256SUMS in it"),
    // the same program for ARM
    (
        r"printf '\267' | dd of=$D/bin/mh-run bs=1 seek=18 conv=notrunc status=none && inside && pack && sum",
        "mh-run in ",
    ),
    // a program for this machine that is not ours
    ("cp /bin/sh $D/bin/mh-run && inside && pack && sum", "mh-run does not start in "),
    ("ln -s /etc/hosts $D/bin/more && inside && pack && sum", "there is a link in it, or worse"),
    ("ln $D/BUILD $D/more && inside && pack && sum", "there is a link in it, or worse"),
    ("echo 1 >$D/more && inside && pack -P --transform \"s,$D/more,$PWD/evil,\" && sum", "a file in it is named /"),
    ("echo 1 >$D/more && inside && pack -P --transform \"s,/more,/../../evil,\" && sum", "a file in it is named meta"),
];

#[test]
#[ignore = "builds the release programs, which takes minutes; .ci/run runs it"]
fn a_release_that_is_not_whole_changes_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let release = release(scratch.path());
    install_old(scratch.path());
    for (number, (damage, says)) in DAMAGES.into_iter().enumerate() {
        let folder = scratch.path().join(number.to_string());
        let script = format!(
            "set -e; mkdir '{folder}'; cd '{folder}'; cp ../release/* .; tar -xzf *.gz; T=$(ls *.gz); D=${{T%.tar.gz}}
            inside() {{ (cd $D && find . -type f ! -path ./SHA256SUMS | sed 's,^\\./,,' | xargs sha256sum >../s && mv ../s SHA256SUMS); }}
            pack() {{ tar \"$@\" -czf $T $D; }}
            sum() {{ sha256sum $T >SHA256SUMS; }}
            {damage}",
            folder = folder.display()
        );
        done(Command::new("sh").args(["-c", &script]));
        let tarball = folder.join(release.file_name().unwrap());
        refused(start(scratch.path(), "install.sh").arg("--from").arg(&tarball), says);
        assert!(is_old(scratch.path()), "{damage}");
        assert!(!folder.join("evil").exists(), "{damage}");
    }
    let none = scratch.path().join("none.tar.gz");
    refused(start(scratch.path(), "install.sh").arg("--from").arg(&none), "there is no file ");
    let zeros = "0".repeat(64);
    refused(
        start(scratch.path(), "install.sh").arg("--from").arg(&release).args(["--sha256", &zeros]),
        "and --sha256 says 0",
    );
    assert!(is_old(scratch.path()));
}

/// A checkout with the files that install.sh reads, and a `cargo` on `path` that "builds" by copying programs from a
/// folder.
fn checkout(scratch: &Path, programs: &Path) -> String {
    let script = format!(
        "set -e; cd '{from}'; mkdir -p '{to}/checkout/tests' '{to}/path'; cp -R install.sh Cargo.toml fixtures '{to}/checkout'
        cp -R tests/release '{to}/checkout/tests'",
        from = env!("CARGO_MANIFEST_DIR"),
        to = scratch.display()
    );
    done(Command::new("sh").args(["-c", &script]));
    let cargo = scratch.join("path/cargo");
    let script = format!(
        "#!/bin/sh
[ \"$1\" = build ] || exit 0
while [ \"$1\" != --target ]; do shift; done
mkdir -p \"$4/$2/release\" && cd '{}' && cp {} \"$4/$2/release\"\n",
        programs.display(),
        PROGRAMS.join(" ")
    );
    crate::common::executable(&cargo, &script);
    format!("{}:{}", scratch.join("path").display(), std::env::var("PATH").unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn programs_that_came_out_dynamic_are_not_installed() {
    let scratch = tempfile::tempdir().unwrap();
    let built = Path::new(env!("CARGO_BIN_EXE_mh-run")).parent().unwrap();
    let path = checkout(scratch.path(), built);
    install_old(scratch.path());
    refused(start(scratch.path(), scratch.path().join("checkout/install.sh")).env("PATH", path), "is not static");
    assert!(is_old(scratch.path()));
}

#[test]
#[ignore = "builds the release programs, which takes minutes; .ci/run runs it"]
fn a_checkout_that_cannot_be_written_to_installs_and_stays_as_it_is() {
    let scratch = tempfile::tempdir().unwrap();
    let built = done(start(scratch.path(), "tests/release/build").arg("--bins")).stdout;
    let path = checkout(scratch.path(), Path::new(String::from_utf8(built).unwrap().trim_end()));
    let locked = scratch.path().join("checkout");
    fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o555)).unwrap();
    // root may write anywhere, unless it gives that up
    let may_all = fs::write(locked.join("probe"), "").is_ok();
    let mut command = if may_all {
        fs::remove_file(locked.join("probe")).unwrap();
        let mut command = start(scratch.path(), "/usr/bin/setpriv");
        command.args(["--bounding-set", "-dac_override"]).arg(locked.join("install.sh"));
        command
    } else {
        start(scratch.path(), locked.join("install.sh"))
    };
    let output = command.env("PATH", path).output().unwrap();
    fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!locked.join("target").exists());
    assert!(PROGRAMS.iter().all(|program| scratch.path().join("prefix/bin").join(program).exists()));
}

#[test]
fn a_link_to_the_script_is_the_script() {
    let scratch = tempfile::tempdir().unwrap();
    install_old(scratch.path());
    let share = scratch.path().join("prefix/share/metaharness/frames");
    fs::create_dir_all(&share).unwrap();
    let frame = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/frames/nothing.json");
    fs::copy(frame, share.join("nothing.json")).unwrap();
    fs::create_dir(scratch.path().join("links")).unwrap();
    symlink(concat!(env!("CARGO_MANIFEST_DIR"), "/install.sh"), scratch.path().join("links/one")).unwrap();
    symlink("links/one", scratch.path().join("two")).unwrap();
    // it recognises its own installation by the frames beside it
    done(start(scratch.path(), scratch.path().join("two")).arg("--uninstall"));
    assert!(!share.exists());
    assert!(fs::read_dir(scratch.path().join("prefix/bin")).unwrap().next().is_none());
}

#[test]
fn arguments_that_nothing_would_listen_to_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    install_old(scratch.path());
    let pin = "0".repeat(64);
    for (arguments, says) in [
        (&["--try", "--uninstall"][..], "--try and --uninstall do not go together"),
        (&["--uninstall", "--try"], "--try and --uninstall do not go together"),
        (&["--uninstall", "--from", "x.tar.gz"], "--uninstall takes no other argument"),
        (&["--uninstall", "--frame", "x.json"], "--uninstall takes no other argument"),
        (&["--try", "--frame", "x.json"], "--try and --frame do not go together: it seals a frame of its own"),
        (&["--frame", "x.json"], "install.sh: x.json: no such file; see --help"),
        (&["--frame"], "--frame takes a value, and none is given; see --help"),
        (&["--frame", "--from", "x"], "--frame takes a value, and behind it stands --from; "),
        (&["--frmae", "x"], "install.sh: there is no flag --frmae; see --help"),
        (&["--from", ""], "--from takes a value"),
        (&["--sha256", &pin], "--sha256 goes with --from"),
        (&["--from", "x.tar.gz", "--sha256", &pin[1..]], "64 hex digits"),
        (&["--from", "x.tar.gz", "--sha256", "sha256:0"], "64 hex digits"),
        (&["x.tar.gz"], "there is no argument \"x.tar.gz\"; see --help"),
    ] {
        ends(start(scratch.path(), "install.sh").args(arguments), 2, says);
        assert!(is_old(scratch.path()), "{arguments:?}");
    }
}

/// A release from the programs that the tests run with, and the files that install.sh reads from one.
fn quick_release(scratch: &Path) -> PathBuf {
    let folder = scratch.join("metaharness-hooks-0");
    let built = Path::new(env!("CARGO_BIN_EXE_mh-run")).parent().unwrap();
    let script = format!(
        "set -e; mkdir -p '{to}/bin' '{to}/fixtures'; cp -R '{from}/fixtures/frames' '{to}/fixtures'; cd '{built}'
        for p in {}; do cp $p '{to}/bin'; strip '{to}/bin/'$p 2>/dev/null || :; done
        cd '{to}'; find . -type f | sed 's,^./,,' | xargs sha256sum >../sums; mv ../sums SHA256SUMS
        cd ..; tar -cf - metaharness-hooks-0 | gzip -1 >r.tar.gz; sha256sum r.tar.gz >SHA256SUMS",
        PROGRAMS.join(" "),
        to = folder.display(),
        from = env!("CARGO_MANIFEST_DIR"),
        built = built.display()
    );
    done(Command::new("sh").args(["-c", &script]));
    scratch.join("r.tar.gz")
}

#[test]
fn it_ends_with_what_to_do_next_and_takes_away_all_that_it_made() {
    // not below a temporary folder, where mh-setup writes no entry for a program
    let target = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let scratch = target.path();
    let tarball = quick_release(scratch);
    let tarball = tarball.to_str().unwrap();
    let bin = scratch.join("prefix/bin");
    let frames = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/frames");

    // a frame that does not verify is refused, and nothing is installed, not even a folder
    let edited = fs::read_to_string(frames.join("read-only.json")).unwrap().replace("file.read", "shell");
    fs::write(scratch.join("edited.json"), edited).unwrap();
    let edited = scratch.join("edited.json");
    let mut command = start(scratch, "install.sh");
    refused(command.args(["--from", tarball, "--frame", edited.to_str().unwrap()]), "edited.json: REFUSED edited: ");
    assert!(!scratch.join("prefix").exists());

    let frame = scratch.join("a frame.json");
    fs::copy(frames.join("read-only.json"), &frame).unwrap();
    let told = install(scratch, &["--from", tarball, "--frame", frame.to_str().unwrap()]).stdout;
    let told = String::from_utf8(told).unwrap();
    let next = |setup: &str| {
        let frame = frame.display();
        format!(
            "\nNext, in the folder of a project:\n\n  {setup} claude --project . --frame '{frame}'\n  {setup} codex --frame \
             '{frame}'\n  {setup} doctor\n\n"
        )
    };
    let setup = bin.join("mh-setup").display().to_string();
    assert!(told.contains(&next(&setup)) && told.contains("is not on your PATH"), "{told}");
    assert!(told.lines().count() < 16, "{told}");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let again =
        done(start(scratch, "install.sh").args(["--from", tarball, "--frame"]).arg(&frame).env("PATH", path)).stdout;
    assert!(String::from_utf8(again).unwrap().contains(&next("mh-setup")));

    // its printed commands are a person's next steps; then the programs go, and the entry is named
    let project = scratch.join("home/work/site");
    fs::create_dir_all(&project).unwrap();
    let setup = |arguments: &[&str]| {
        let mut command = start(scratch, bin.join("mh-setup"));
        done(command.args(arguments).current_dir(&project))
    };
    setup(&["claude", "--project", ".", "--frame", frame.to_str().unwrap()]);
    let gone = String::from_utf8(install(scratch, &["--uninstall"]).stdout).unwrap();
    let file = project.join(".claude/settings.json");
    for line in [
        "these entries start a program that is gone, so every call and every prompt is blocked where they stand:"
            .to_string(),
        format!("claude: {}", file.display()),
        format!("  take out mh-setup claude --project {} --remove", project.display()),
    ] {
        assert!(gone.lines().any(|told| told == line), "{line}: {gone}");
    }
    assert!(!scratch.join("prefix").exists(), "a folder is left that it made");

    // without entries it reports that; a folder that was there before stays
    fs::create_dir_all(&bin).unwrap();
    install(scratch, &["--from", tarball]);
    fs::remove_file(&file).unwrap();
    let gone = String::from_utf8(install(scratch, &["--uninstall"]).stdout).unwrap();
    assert!(gone.contains("no entry is left in your own files and the projects below "), "{gone}");
    assert!(bin.is_dir() && fs::read_dir(scratch.join("prefix")).unwrap().count() == 1);
}

#[test]
fn a_toolchain_that_is_too_old_is_refused_before_anything_is_fetched() {
    let scratch = tempfile::tempdir().unwrap();
    let path = checkout(scratch.path(), Path::new("/nonexistent"));
    let rustc = |release: &str| {
        crate::common::executable(
            &scratch.path().join("path/rustc"),
            &format!("#!/bin/sh\necho 'rustc {release} (x)'\n"),
        );
    };
    let needs = "Rust 1.89 or newer is needed (rustup installs it), or --from TARBALL, which needs none";
    for release in ["1.88.0", "0.99.1"] {
        rustc(release);
        for arguments in [&[][..], &["--try"]] {
            let mut command = start(scratch.path(), scratch.path().join("checkout/install.sh"));
            refused(command.args(arguments).env("PATH", &path), &format!("this is rustc {release} (x): {needs}"));
        }
    }
    assert!(!scratch.path().join("prefix").exists() && !scratch.path().join("checkout/target").exists());
    // a newer toolchain is accepted, and gets a message about the part that it cannot build
    rustc("2.0.0");
    crate::common::executable(
        &scratch.path().join("path/cargo"),
        "#!/bin/sh\necho 'error: no network' >&2\nexit 101\n",
    );
    let mut command = start(scratch.path(), scratch.path().join("checkout/install.sh"));
    let command = command.arg("--try").env("PATH", &path);
    refused(
        command,
        "error: no network\ninstall.sh: it could not be built, and cargo says above why; nothing was changed",
    );
}

//! The frame's file: of another kind, unreadable, or no frame.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use fs_err::os::unix::fs::symlink;

use crate::common::{GOLDEN, Scratch, fixture, table};
use crate::faults::row::{Row, Source, Trial, blocks, borne, can, hold};

fn golden() -> PathBuf {
    fixture("golden/frame.json")
}

/// A fault with a frame at this path.
fn at(name: &str, says: &str, path: impl Fn(&Scratch) -> PathBuf + Send + Sync + 'static) -> Row {
    blocks(name, format!("is refused: {says}"), move |trial| trial.frame = Some(path(trial.scratch).into()))
}

/// Root may read every file; this command takes that right away.
const NO_POWER: &str =
    "exec setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search \"$@\"";

#[test]
fn a_file_of_another_kind() {
    let mut rows = vec![
        at("missing", "unreadable: no such file or directory", |_| "/nonexistent/frame.json".into()),
        at("a folder", "unreadable: it is a folder, not a regular file", |scratch| scratch.root().into()),
        at("a FIFO that nobody writes to", "unreadable: it is a named pipe, not a regular file", |scratch| {
            let path = scratch.path("fifo");
            rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
            path
        }),
        at("a socket", "unreadable: no such device or address", |scratch| {
            let path = scratch.path("socket");
            drop(UnixListener::bind(&path).unwrap());
            path
        }),
        at("/dev/null", "unreadable: it is a device, not a regular file", |_| "/dev/null".into()),
        at("/dev/zero", "unreadable: it is a device, not a regular file", |_| "/dev/zero".into()),
        at("/dev/tty", "unreadable: ", |_| "/dev/tty".into()),
        at("a link to itself", "unreadable: too many levels of symbolic links", |scratch| {
            let path = scratch.path("loop");
            symlink("loop", &path).unwrap();
            path
        }),
        at("a link to nothing", "unreadable: no such file or directory", |scratch| {
            let path = scratch.path("dangling");
            symlink("missing", &path).unwrap();
            path
        }),
        at("a link to /dev/zero", "unreadable: it is a device, not a regular file", |scratch| {
            let path = scratch.path("endless");
            symlink("/dev/zero", &path).unwrap();
            path
        }),
        at("below a file", "unreadable: not a directory", |scratch| scratch.file("file", "{}").join("frame.json")),
        at("a name of 300 bytes", "unreadable: file name too long", |scratch| scratch.path(&"n".repeat(300))),
        at("standard input, a pipe", "unreadable: it is a named pipe, not a regular file", |_| "/dev/stdin".into()),
        blocks("standard input, a file that holds a frame that is sealed", "is refused: ", |trial| {
            // stdin is the frame's own file, so reading the payload leaves nothing of the frame
            trial.stdin = Source::file(fs_err::File::open(golden()).unwrap());
            trial.frame = Some("/dev/stdin".into());
            trial.args(["--digest", &"0".repeat(64)]);
        }),
        at("a file that the kernel makes up", "not json: byte 0: ", |_| "/proc/self/environ".into()),
        at("a file that fails when it is read", "unreadable: input/output error", |_| "/proc/self/mem".into()),
        at("16 MiB and one byte", "too large: more than 16777216 bytes", |scratch| {
            let padded = fs_err::read_to_string(golden()).unwrap() + &" ".repeat(16 * 1024 * 1024 + 1);
            scratch.file("frame.json", &padded[..16 * 1024 * 1024 + 1])
        }),
        at("a hole of a terabyte", "too large: more than 16777216 bytes", |scratch| {
            let path = scratch.file("frame.json", "");
            fs_err::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
            path
        }),
        at("empty", "not json: byte 0: it is empty", |scratch| scratch.file("frame.json", "")),
        at("16 MiB of NUL", "not json: byte 0: ", |scratch| scratch.file("frame.json", vec![0; 16 * 1024 * 1024])),
        at("a million levels", "not json: byte 127: nested", |scratch| {
            scratch.file("frame.json", "[".repeat(1_000_000))
        }),
        at("bad UTF-8", "not json: byte ", |scratch| {
            let mut bytes = fs_err::read(golden()).unwrap();
            bytes[100] = 0xff;
            scratch.file("frame.json", bytes)
        }),
        blocks("another frame than the pinned one", "is refused: pinned", |trial| {
            trial.frame = Some(trial.scratch.frame("frame.json", &["--admit", "shell"]).into());
            trial.args(["--digest", GOLDEN]);
        }),
        borne("sixteen links, one after the other", |trial| {
            let mut path = golden();
            for n in 0..16 {
                let link = trial.scratch.path(&format!("link{n}"));
                symlink(&path, &link).unwrap();
                path = link;
            }
            trial.frame = Some(path.into());
        }),
        borne("a frame that nobody may write", |trial| {
            let path = trial.scratch.path("frame.json");
            fs_err::copy(golden(), &path).unwrap();
            fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o400)).unwrap();
            trial.frame = Some(path.into());
        }),
    ];
    let closed = |trial: &mut Trial<'_>, mode: u32, of: fn(&Scratch) -> PathBuf| {
        let folder = trial.scratch.folder("closed");
        let path = folder.join("frame.json");
        fs_err::copy(golden(), &path).unwrap();
        fs_err::set_permissions(of(trial.scratch), std::fs::Permissions::from_mode(mode)).unwrap();
        trial.frame = Some(path.into());
        if rustix::process::geteuid().is_root() {
            trial.line(NO_POWER);
        }
    };
    let root = rustix::process::geteuid().is_root();
    if !root || can("a frame that may not be read, to root", &["setpriv", "--bounding-set=-dac_override", "true"]) {
        let denied = "is refused: unreadable: permission denied";
        rows.push(blocks("a file that may not be read", denied, move |trial| {
            closed(trial, 0o000, |scratch| scratch.path("closed/frame.json"));
        }));
        rows.push(blocks("in a folder that may not be entered", denied, move |trial| {
            closed(trial, 0o600, |scratch| scratch.path("closed"));
        }));
    }
    hold("frame", rows);
}

/// The hook refuses every document that the verifier refuses, in the same words.
#[test]
fn a_document_that_is_no_frame() {
    let rows = table("documents.tsv", ["document", "verdict", "elsewhere", "why"]);
    let rows: Vec<Row> = rows
        .into_iter()
        .filter_map(|[document, verdict, _, why]| {
            let says = verdict.strip_prefix("REFUSED ")?.to_string();
            // reasons are cut short and non-ASCII characters are escaped
            let says: String = says.chars().take_while(|c| c.is_ascii() && *c != '`' && *c != '"').take(60).collect();
            Some(at(&format!("{document}: {why}"), &says, move |_| fixture(format!("documents/{document}.json"))))
        })
        .collect();
    assert!(rows.len() > 25, "{}", rows.len());
    hold("frame, its text", rows);
}

/// A frame whose file is written all the time: the hook judges the bytes that it read, up to the limit.
#[test]
fn a_file_that_is_written_while_it_is_read() {
    use std::io::Write as _;
    let grows = |trial: &mut Trial<'_>, seed: Vec<u8>| {
        let path = trial.scratch.file("frame.json", seed);
        trial.frame = Some(path.clone().into());
        trial.meanwhile = Some(Box::new(move |_| {
            let mut file = fs_err::OpenOptions::new().append(true).open(path).unwrap();
            for _ in 0..64 {
                file.write_all(&[b' '; 1 << 19]).unwrap();
            }
        }));
    };
    hold(
        "frame, while it is written",
        vec![blocks("half a frame that grows past its bound", "is refused: ", move |trial| {
            let golden = fs_err::read(golden()).unwrap();
            grows(trial, golden[..golden.len() / 2].to_vec());
        })],
    );
}

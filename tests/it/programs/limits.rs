//! Sizes, depths and encodings at their limits: a clear refusal and never a crash.

use serde_json::{Value, json};

use crate::common::{CLAUDE, CODEX, GOLDEN, Run, Scratch, VENDORS, bytes, call, fixture, run, times};

const MOST: usize = 16 * 1024 * 1024;

/// The golden document, changed. Its digest is left as it is: the tests compare the reason for the refusal, and those
/// reasons come before the digest's.
fn golden(with: impl FnOnce(String) -> String) -> String {
    with(fs_err::read_to_string(fixture("golden/frame.json")).unwrap())
}

#[track_caller]
fn refused(document: impl Into<Vec<u8>>, wanted: &str) {
    let answer = Run::of("mh-frame-verify").args(["-"]).stdin(document).answer();
    assert_eq!((answer.code, answer.stdout), (1, format!("-: REFUSED {wanted}\n")));
}

#[test]
fn sixteen_mebibytes_are_read_and_one_byte_more_is_not() {
    let scratch = Scratch::new();
    let golden = golden(|text| text);
    let padded = format!("{golden}{}", " ".repeat(MOST - golden.len()));
    let most = scratch.file("most.json", &padded);
    let most = most.to_str().unwrap();
    assert_eq!(run("mh-frame-verify", [most]).stdout, format!("{most}: OK {GOLDEN}\n"));
    let more = scratch.file("more.json", padded + " ");
    let more = more.to_str().unwrap();
    let wanted = format!("{more}: REFUSED too large: more than 16777216 bytes\n");
    assert_eq!(run("mh-frame-verify", [more]).stdout, wanted);
    assert_eq!(run("mh-frame-verify", [more]).code, 1);
    assert_eq!(
        run("mh-frame-seal", [more]).stderr,
        format!("mh-frame-seal: {more}: too large: more than 16777216 bytes\n")
    );
    // a sparse file takes no disk and no memory
    let hole = scratch.file("hole.json", "");
    fs_err::OpenOptions::new().write(true).open(&hole).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(run("mh-frame-verify", [&hole]).code, 1);
}

#[test]
fn stdin_is_bounded_like_a_file() {
    // this test writes by hand, since a program that stopped reading would break the pipe
    let mut child = Run::of("mh-frame-verify").args(["-"]).command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &vec![b' '; MOST + 1]));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"-: REFUSED too large: more than 16777216 bytes\n");
}

#[test]
fn a_hundred_and_twenty_seven_levels_are_read_and_one_more_is_not() {
    let nested = |levels: usize| {
        // the frame is the first level
        golden(|text| text.replace("\"next\": []", &format!("\"next\": {}{}", "[".repeat(levels), "]".repeat(levels))))
    };
    refused(nested(126), "misshapen: byte 190: `next[0]` is an array, not an object");
    refused(nested(127), "not json: byte 315: nested more than 127 levels deep");
    refused("[".repeat(1_000_000), "not json: byte 127: nested more than 127 levels deep");
    refused("{\"a\":".repeat(1_000_000), "not json: byte 635: nested more than 127 levels deep");
}

#[test]
fn bytes_that_are_not_utf_8_are_named() {
    let golden = golden(|text| text);
    let utf16 = |order: fn(u16) -> [u8; 2]| golden.encode_utf16().flat_map(order).collect::<Vec<u8>>();
    refused([&[0xEF, 0xBB, 0xBF], golden.as_bytes()].concat(), BOM);
    refused([vec![0xFF, 0xFE], utf16(u16::to_le_bytes)].concat(), UTF16);
    refused([vec![0xFE, 0xFF], utf16(u16::to_be_bytes)].concat(), UTF16);
    refused(utf16(u16::to_le_bytes), UTF16);
    refused(utf16(u16::to_be_bytes), UTF16);
    let latin = golden.replace("red", "r\u{0}d").replace('\u{0}', "?").into_bytes();
    let at = latin.iter().position(|byte| *byte == b'?').unwrap();
    let mut latin = latin;
    latin[at] = 0xE9;
    refused(latin, &format!("not json: byte {at}: not UTF-8"));
    // a surrogate, an overlong form, a code point beyond the last, a cut sequence
    for bad in [&[0xED, 0xA0, 0x80][..], &[0xC0, 0xAF], &[0xF4, 0x90, 0x80, 0x80], &[0xE2, 0x82]] {
        refused([b"{\"a\":\"", bad, b"\"}"].concat(), "not json: byte 6: not UTF-8");
    }
}

const BOM: &str = "not json: byte 0: it begins with a byte order mark; save it as UTF-8 without one";
const UTF16: &str = "not json: byte 0: it is UTF-16; save it as UTF-8";

#[test]
fn numbers_and_escapes_at_their_edges() {
    let index = |number: &str| golden(|text| text.replace("\"index\": 2", &format!("\"index\": {number}")));
    let shape = |number: &str| {
        format!("misshapen: byte 787: `step.index` is {number}, not a whole number from 0 to 4294967295")
    };
    for number in ["2.0", "2e0", "-0", "-1", "4294967296", "99999999999999999999999999", "1e308"] {
        refused(index(number), &shape(number));
    }
    for number in ["1e309", "-1e999", &format!("1{}", "0".repeat(400))] {
        refused(index(number), "not json: byte 787: number out of range");
    }
    refused(index("02"), "not json: byte 788: expected `,` or `}`, found `2`");
    refused(index("4294967295"), &edited("4294967295"));
    let text = |escape: &str| golden(|text| text.replace("the suite is red", escape));
    refused(text("\\ud800"), "not json: byte 296: a lone surrogate, `\\ud800`, which is no character");
    refused(text("\\udc00\\ud800"), "not json: byte 296: a lone surrogate, `\\udc00`, which is no character");
    refused(text("\\ud800\\ud800"), "not json: byte 296: a lone surrogate, `\\ud800`, which is no character");
    refused(text("\\u12g4"), "not json: byte 296: `\\u` without four hexadecimal digits");
    refused(text("\\x41"), "not json: byte 296: an escape that JSON does not have");
    refused(text("a\nb"), "not json: byte 297: a control character in a string, not escaped");
    refused(text("a\0b"), "not json: byte 297: a control character in a string, not escaped");
}

fn edited(index: &str) -> String {
    let canonical = fs_err::read_to_string(fixture("golden/frame.canonical")).unwrap();
    let canonical = canonical.replace("\"index\":2", &format!("\"index\":{index}"));
    let digest: String = <sha2::Sha256 as sha2::Digest>::digest(canonical).iter().map(|b| format!("{b:02x}")).collect();
    format!(
        "edited: it says it is {GOLDEN}, but its contents are {digest}: edited after it was sealed; take the sealed \
         one back, or seal the change with mh-frame-seal --reseal"
    )
}

#[test]
fn bytes_around_the_document() {
    let golden = golden(|text| text);
    for good in [format!(" \t\r\n{golden}\r\n \t"), golden.trim_end().to_string(), golden.replace('\n', "\r\n")] {
        let answer = Run::of("mh-frame-verify").args(["-"]).stdin(good).answer();
        assert_eq!((answer.code, answer.stdout), (0, format!("-: OK {GOLDEN}\n")));
    }
    let length = golden.len();
    for (after, at) in [("{}", 0), ("\0", 0), ("x", 0), (" \n,", 2), ("\u{a0}", 0), ("\u{feff}", 0)] {
        let wanted = format!("not json: byte {}: there are bytes after the end of the document", length + at);
        refused(format!("{golden}{after}"), &wanted);
    }
    refused("", "not json: byte 0: it is empty");
    refused(" \n", "not json: byte 0: there is nothing but white space in it");
    refused(&golden[..golden.len() / 2], "not json: byte 466: the document ends inside a string");
}

/// The reason against a call under a frame that admits every path but `out`; `None` if it is admitted.
fn says(vendor: &str, tool: &str, input: Value) -> Option<String> {
    let scratch = Scratch::new();
    let admits = ["--admit", "file.write,file.edit,file.read,dir.list", "--scope", "**/out/**", "none"];
    let frame = scratch.frame("frame.json", &admits);
    let run = Run::hook(vendor).frame(frame).args(["--policy", "deny-only"]).stdin(bytes(&call(vendor, tool, input)));
    let answer = run.answer();
    (answer.code != 0).then(|| answer.denial().split(" (step 1, ").next().unwrap().into())
}

#[test]
fn a_path_too_long_to_open_is_denied_at_once() {
    // following links takes time by the square of a path's length, since each prefix is looked up
    let long = |parts: usize| format!("/{}x", "a/".repeat(parts));
    let why =
        |tool: &str| Some(format!("{tool} has a path of more than 4096 bytes, so it cannot be told where it leads"));
    assert_eq!(says(CLAUDE, "Write", json!({ "file_path": long(2_000) })), None);
    for parts in [2_100, times(2_000_000, 200_000)] {
        for (tool, member) in
            [("Write", "file_path"), ("Read", "file_path"), ("NotebookEdit", "notebook_path"), ("Glob", "pattern")]
        {
            assert_eq!(says(CLAUDE, tool, json!({ member: long(parts) })), why(tool));
        }
        let patch = format!("*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch", long(parts));
        assert_eq!(says(CODEX, "apply_patch", json!({ "command": patch })), why("apply_patch"));
    }
}

#[test]
fn a_patch_of_more_files_than_can_be_judged_in_time_is_denied() {
    let named = |files: usize, length: usize| {
        let files: Vec<String> = (0..files).map(|n| format!("*** Add File: d/{n:0length$}\n+x\n")).collect();
        says(CODEX, "apply_patch", json!({ "command": format!("*** Begin Patch\n{}*** End Patch", files.concat()) }))
    };
    let patch = |files| named(files, 1);
    assert_eq!(patch(2_000), None);
    let why = "apply_patch is about too many files to be judged at once: do it in several calls";
    assert_eq!(patch(2_001).as_deref(), Some(why));
    assert_eq!(patch(times(500_000, 50_000)).as_deref(), Some(why));
    // a few long paths take as long as many short ones
    assert_eq!(named(100, 4_000), None);
    assert_eq!(named(1_000, 4_000).as_deref(), Some(why));
}

#[test]
fn a_name_that_can_be_read_in_millions_of_ways_is_denied_and_costs_no_memory() {
    for vendor in VENDORS {
        let denial = |tool: &str| {
            let payload = bytes(&call(vendor, tool, json!({})));
            Run::hook(vendor).frame(fixture("golden/frame.json")).stdin(payload).answer().denial()
        };
        for piece in ["_", "a__"] {
            let tool = format!("mcp__{}", piece.repeat(1_001));
            let why =
                format!("{}... has a name of more than 1000 bytes, which no mcp tool has (step 2, ", &tool[..107]);
            assert!(denial(&tool).starts_with(&why), "{}", denial(&tool));
            let reason = denial(&format!("mcp__{}", piece.repeat(times(3_000_000, 300_000))));
            assert!(reason.contains("the payload has a `tool_name` of more than 4096 bytes"), "{reason}");
        }
    }
}

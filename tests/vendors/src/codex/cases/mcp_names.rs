//! The names of MCP servers and tools. Codex gives a hook its own rendering and no raw name, and several pairs can
//! render alike.

use serde_json::json;

use super::{List, MARK, place, printed, text_of, under};
use crate::case::Seen;
use crate::codex::script::{Call, Mode, Script};
use crate::codex::session::{Codex, Session};
use crate::entry::Ask;
use crate::frame::{Frame, Spec};
use crate::scratch::Scratch;

/// A pair of server and tool, as configured and as the model calls it.
struct Pair {
    server: &'static str,
    tool: &'static str,
    called: (&'static str, &'static str),
}

const fn pair(server: &'static str, tool: &'static str, called: (&'static str, &'static str)) -> Pair {
    Pair { server, tool, called }
}

/// Names whose rendering keeps the separator between server and tool.
const PLAIN: &[Pair] = &[
    pair("lab", "note", ("lab", "note")),
    pair("Lab", "Note", ("Lab", "Note")),
    pair("my-lab", "note", ("my_lab", "note")),
    pair("dot.ted", "note", ("dot_ted", "note")),
    pair("under_score", "note_it", ("under_score", "note_it")),
    pair("lab", "dash-name.dot", ("lab", "dash_name_dot")),
    pair("lab", "two words", ("lab", "two_words")),
    pair("lab", "slash/ed", ("lab", "slash_ed")),
    pair("lab", "naïve", ("lab", "na_ve")),
    pair("lab", "Ünï", ("lab", "_n_")),
];

/// Names with a second `__`, which can be split in several ways.
const AMBIGUOUS: &[(Pair, (&str, &str))] = &[
    (pair("lab", "x__y", ("lab", "x__y")), ("lab__x", "y")),
    (pair("a__b", "note", ("a__b", "note")), ("a", "b__note")),
];

pub fn list(list: &mut List) {
    for mode in Mode::BOTH {
        for pair in PLAIN {
            let name = format!("{}: MCP {:?} of {:?}", mode.name(), pair.tool, pair.server);
            if pair.called.1.starts_with('_') {
                list.blocked(
                    format!("{name} cannot be admitted: its first character is lost in the name that a hook sees"),
                    move |codex, scratch| doubted(codex, scratch, mode, pair, &[], &[(pair.server, pair.tool)]),
                );
                continue;
            }
            list.ran(format!("{name} runs when admitted"), move |codex, scratch| {
                called(codex, scratch, mode, pair, &[], &admit(pair.server, pair.tool))
            });
            list.blocked(format!("{name} does not run when its neighbours are admitted"), move |codex, scratch| {
                let spec = admit(pair.server, "other").mcp("other", pair.tool);
                called(codex, scratch, mode, pair, &[], &spec)
            });
        }
        for (pair, other) in AMBIGUOUS {
            let name = format!("{}: MCP {:?} of {:?}", mode.name(), pair.tool, pair.server);
            list.blocked(format!("{name} is ambiguous: one split admitted is not enough"), move |codex, scratch| {
                doubted(codex, scratch, mode, pair, &[], &[(pair.server, pair.tool)])
            });
            list.ran(format!("{name} runs when every split is admitted"), move |codex, scratch| {
                doubted(codex, scratch, mode, pair, &[], &[(pair.server, pair.tool), *other])
            });
        }
        list.blocked(
            format!("{}: MCP \"b__note\" of \"a\" admitted does not admit \"note\" of \"a__b\"", mode.name()),
            move |codex, scratch| {
                let pair = pair("a__b", "note", ("a__b", "note"));
                doubted(codex, scratch, mode, &pair, &[("a", "b__note")], &[("a", "b__note")])
            },
        );
    }
    alike(list);
    underscores(list);
    list.holds("servers whose names Codex does not take are never started", |codex, scratch| {
        let mark = scratch.project.join("listed.txt");
        let outcome = under(codex, scratch, Mode::Code, &Spec::admitting(&["web.read"]), Script::default())?
            .server("two words", &json!({"tools": {"note": null}, "listed": mark}))?
            .server("ünï", &json!({"tools": {"note": null}, "listed": mark}))?
            .run()?;
        let offered = outcome.asked.iter().any(|asked| asked.body.to_string().contains("mcp__two_words"));
        super::hold([(!offered, "no tool of theirs is offered")], "")
    });
}

fn admit(server: &str, tool: &str) -> Spec {
    Spec::admitting(&["web.read"]).mcp(server, tool)
}

/// Call the pair under the frame; `beside` are further servers with one tool each.
fn called(
    codex: &Codex,
    scratch: &Scratch,
    mode: Mode,
    pair: &Pair,
    beside: &[(&str, &str)],
    spec: &Spec,
) -> Result<Seen, String> {
    run(codex, scratch, mode, pair, beside, &spec.seal(scratch, "frame.json")?)
}

/// Call the pair under a frame that mh-frame-seal refuses, because its names can be read in several ways. Another
/// sealer may seal it, and every reader has to take it: the document is written here with the digest that
/// mh-frame-verify computes.
fn doubted(
    codex: &Codex,
    scratch: &Scratch,
    mode: Mode,
    pair: &Pair,
    beside: &[(&str, &str)],
    admitted: &[(&str, &str)],
) -> Result<Seen, String> {
    let plain = (0..admitted.len()).fold(Spec::admitting(&["web.read"]), |spec, n| spec.mcp(&format!("s{n}"), "tool"));
    let sealed = plain.seal(scratch, "frame.json")?;
    let mut document: serde_json::Value =
        serde_json::from_str(&text_of(&sealed.path)).map_err(|error| format!("the frame is no JSON: {error}"))?;
    for (n, (server, tool)) in admitted.iter().enumerate() {
        document["operations"][n] = json!({"op": "mcp.call", "server": server, "tool": tool});
    }
    place(&sealed.path, &document.to_string())?;
    let said = scratch.run(scratch.command(scratch.program("mh-frame-verify")).arg(&sealed.path), "verify")?;
    let digest = format!("{}{}", said.stdout, said.stderr)
        .split_once("its contents are ")
        .and_then(|(_, tail)| tail.get(..64).map(str::to_string))
        .ok_or_else(|| format!("mh-frame-verify does not say the contents' digest: {}", said.stdout))?;
    document["digest"] = json!(digest);
    place(&sealed.path, &document.to_string())?;
    run(codex, scratch, mode, pair, beside, &Frame { path: sealed.path, digest })
}

fn run(
    codex: &Codex,
    scratch: &Scratch,
    mode: Mode,
    pair: &Pair,
    beside: &[(&str, &str)],
    frame: &Frame,
) -> Result<Seen, String> {
    let call = Call::mcp(pair.called.0, pair.called.1);
    let entry = printed(scratch, &Ask::pinned(frame))?;
    let mut session = Session::new(codex, scratch, mode, Script::calls(mode, &[call]))
        .entry(&entry.text)
        .server(pair.server, &json!({"tools": {pair.tool: scratch.project.join(MARK), "other": null}}))?;
    for (server, tool) in beside {
        session = session.server(server, &json!({"tools": {*tool: null}}))?;
    }
    session.run()?.effect(scratch.exists(MARK))
}

/// Two servers, or two tools of one server, that render alike. Codex adds twelve hex digits of a SHA-1 over the raw
/// names (measured: server NUL server NUL, for a tool further NUL tool NUL tool), so neither is ever called by its
/// plain rendering.
fn alike(list: &mut List) {
    const DASH: Pair = pair("a-b", "note", ("a_b_e0598e406614", "note"));
    list.blocked(
        "code mode: MCP servers that render alike: one admitted does not admit the other",
        |codex, scratch| {
            let spec = admit("a_b", "note");
            called(codex, scratch, Mode::Code, &DASH, &[("a_b", "note")], &spec)
        },
    );
    list.blocked("MCP servers that render alike: neither can be admitted", |codex, scratch| {
        let spec = admit("a-b", "note");
        called(codex, scratch, Mode::Code, &DASH, &[("a_b", "note")], &spec)
    });
    list.blocked("direct: MCP servers that render alike: one admitted does not admit the other", |codex, scratch| {
        let spec = admit("a_b", "note");
        called(codex, scratch, Mode::Direct, &DASH, &[("a_b", "note")], &spec)
    });
    list.blocked(
        "code mode: MCP tools of one server that render alike: one admitted does not admit the other",
        |codex, scratch| {
            let call = Call::mcp("lab", "do_it_c423cef0c36b");
            let spec = admit("lab", "do_it");
            let outcome = under(codex, scratch, Mode::Code, &spec, Script::calls(Mode::Code, &[call]))?
                .server("lab", &json!({"tools": {"do-it": scratch.project.join(MARK), "do_it": null}}))?
                .run()?;
            outcome.effect(scratch.exists(MARK))
        },
    );
}

/// Codex drops underscores at the seam on both sides before it joins the names, so the tool `_note` and the server
/// `lab_` have the rendered name of `note` of `lab`.
fn underscores(list: &mut List) {
    const LIMIT: &str = "a tool or server whose name differs from an admitted one only by underscores at the seam \
                         comes under the admitted name; do not configure such servers beside admitted ones";
    for mode in Mode::BOTH {
        list.limit(
            format!("{}: MCP \"_note\" under a frame that admits \"note\"", mode.name()),
            LIMIT,
            move |codex, scratch| {
                let pair = pair("lab", "_note", ("lab", "_note"));
                called(codex, scratch, mode, &pair, &[], &admit("lab", "note"))
            },
        );
        list.limit(
            format!("{}: MCP \"note\" of \"lab_\" under a frame that admits that of \"lab\"", mode.name()),
            LIMIT,
            move |codex, scratch| {
                let pair = pair("lab_", "note", ("lab_", "note"));
                called(codex, scratch, mode, &pair, &[("lab", "note")], &admit("lab", "note"))
            },
        );
    }
}

//! The names of MCP servers and tools. Codex gives a hook no raw name, only its own
//! rendering, and several pairs can render alike.

use serde_json::json;

use super::{List, MARK, under};
use crate::case::Seen;
use crate::codex::script::{Call, Mode, Script};
use crate::codex::session::Codex;
use crate::frame::Spec;
use crate::scratch::Scratch;

/// A pair as it is configured, and as the model calls it.
struct Pair {
    server: &'static str,
    tool: &'static str,
    called: (&'static str, &'static str),
}

const fn pair(
    server: &'static str,
    tool: &'static str,
    called: (&'static str, &'static str),
) -> Pair {
    Pair {
        server,
        tool,
        called,
    }
}

/// Names that render without loss of the seam between server and tool.
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

/// Names with a second `__`: several splits.
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
                    move |codex, scratch| called(codex, scratch, mode, pair, &[], &admit(pair.server, pair.tool)),
                );
                continue;
            }
            list.ran(
                format!("{name} runs when admitted"),
                move |codex, scratch| {
                    called(
                        codex,
                        scratch,
                        mode,
                        pair,
                        &[],
                        &admit(pair.server, pair.tool),
                    )
                },
            );
            list.blocked(
                format!("{name} does not run when its neighbours are admitted"),
                move |codex, scratch| {
                    let spec = admit(pair.server, "other").mcp("other", pair.tool);
                    called(codex, scratch, mode, pair, &[], &spec)
                },
            );
        }
        for (pair, other) in AMBIGUOUS {
            let name = format!("{}: MCP {:?} of {:?}", mode.name(), pair.tool, pair.server);
            list.blocked(
                format!("{name} is ambiguous: one split admitted is not enough"),
                move |codex, scratch| {
                    called(
                        codex,
                        scratch,
                        mode,
                        pair,
                        &[],
                        &admit(pair.server, pair.tool),
                    )
                },
            );
            list.ran(
                format!("{name} runs when every split is admitted"),
                move |codex, scratch| {
                    called(
                        codex,
                        scratch,
                        mode,
                        pair,
                        &[],
                        &admit(pair.server, pair.tool).mcp(other.0, other.1),
                    )
                },
            );
        }
        list.blocked(
            format!(
                "{}: MCP \"b__note\" of \"a\" admitted does not admit \"note\" of \"a__b\"",
                mode.name()
            ),
            move |codex, scratch| {
                let pair = pair("a__b", "note", ("a__b", "note"));
                called(
                    codex,
                    scratch,
                    mode,
                    &pair,
                    &[("a", "b__note")],
                    &admit("a", "b__note"),
                )
            },
        );
    }
    alike(list);
    underscores(list);
    list.holds(
        "servers whose names Codex does not take are never started",
        |codex, scratch| {
            let mark = scratch.project.join("listed.txt");
            let outcome = under(
                codex,
                scratch,
                Mode::Code,
                &Spec::admitting(&["web.read"]),
                Script::default(),
            )?
            .server(
                "two words",
                &json!({"tools": {"note": null}, "listed": mark}),
            )?
            .server("ünï", &json!({"tools": {"note": null}, "listed": mark}))?
            .run()?;
            let offered = outcome
                .asked
                .iter()
                .any(|asked| asked.body.to_string().contains("mcp__two_words"));
            super::hold([(!offered, "no tool of theirs is offered")], "")
        },
    );
}

fn admit(server: &str, tool: &str) -> Spec {
    Spec::admitting(&["web.read"]).mcp(server, tool)
}

/// One call of the pair under the frame; `beside` are further servers with a tool each.
fn called(
    codex: &Codex,
    scratch: &Scratch,
    mode: Mode,
    pair: &Pair,
    beside: &[(&str, &str)],
    spec: &Spec,
) -> Result<Seen, String> {
    let call = Call::mcp(pair.called.0, pair.called.1);
    let mut session = under(codex, scratch, mode, spec, Script::calls(mode, &[call]))?.server(
        pair.server,
        &json!({"tools": {pair.tool: scratch.project.join(MARK), "other": null}}),
    )?;
    for (server, tool) in beside {
        session = session.server(server, &json!({"tools": {*tool: null}}))?;
    }
    session.run()?.effect(scratch.exists(MARK))
}

/// Two servers, or two tools of one, that render alike: Codex adds twelve hex digits of a
/// SHA-1 over the raw names (measured: server NUL server NUL, for a tool further NUL tool
/// NUL tool), so the plain rendering of neither is ever called.
fn alike(list: &mut List) {
    const DASH: Pair = pair("a-b", "note", ("a_b_e0598e406614", "note"));
    list.blocked(
        "code mode: MCP servers that render alike: one admitted does not admit the other",
        |codex, scratch| {
            let spec = admit("a_b", "note");
            called(codex, scratch, Mode::Code, &DASH, &[("a_b", "note")], &spec)
        },
    );
    list.blocked(
        "direct: MCP servers that render alike: one admitted does not admit the other",
        |codex, scratch| {
            let spec = admit("a_b", "note");
            called(
                codex,
                scratch,
                Mode::Direct,
                &DASH,
                &[("a_b", "note")],
                &spec,
            )
        },
    );
    list.blocked("code mode: MCP tools of one server that render alike: one admitted does not admit the other", |codex, scratch| {
        let call = Call::mcp("lab", "do_it_c423cef0c36b");
        let spec = admit("lab", "do_it");
        let outcome = under(codex, scratch, Mode::Code, &spec, Script::calls(Mode::Code, &[call]))?
            .server("lab", &json!({"tools": {"do-it": scratch.project.join(MARK), "do_it": null}}))?
            .run()?;
        outcome.effect(scratch.exists(MARK))
    });
}

/// The name that a hook sees is joined after underscores at the seam were dropped on both
/// sides, so a tool `_note`, or a server `lab_`, comes under the name of `note` of `lab`.
fn underscores(list: &mut List) {
    const LIMIT: &str = "a tool or server whose name differs from an admitted one only by underscores at the seam \
                         comes under the admitted name; do not configure such servers beside admitted ones";
    for mode in Mode::BOTH {
        list.limit(
            format!(
                "{}: MCP \"_note\" under a frame that admits \"note\"",
                mode.name()
            ),
            LIMIT,
            move |codex, scratch| {
                let pair = pair("lab", "_note", ("lab", "_note"));
                called(codex, scratch, mode, &pair, &[], &admit("lab", "note"))
            },
        );
        list.limit(
            format!(
                "{}: MCP \"note\" of \"lab_\" under a frame that admits that of \"lab\"",
                mode.name()
            ),
            LIMIT,
            move |codex, scratch| {
                let pair = pair("lab_", "note", ("lab_", "note"));
                called(
                    codex,
                    scratch,
                    mode,
                    &pair,
                    &[("lab", "note")],
                    &admit("lab", "note"),
                )
            },
        );
    }
}

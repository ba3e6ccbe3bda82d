//! The cases that only `--all` runs. The default set shows each promise once on each vendor: every row of the answer
//! tables, every operation, every kind of scope and of guarded place, every sabotage against doctor, every launch under
//! attack. The other cases show a promise once more: in the vendor's other mode, by another spelling, in another place,
//! or by another fault of the same kind.

use crate::case::Case;

struct Beyond {
    vendor: &'static str,
    /// The beginning of the cases' names; after a `*`, a part of them.
    named: &'static str,
    /// A case with one of these words in its name stays in the default set.
    but: &'static [&'static str],
}

const fn of(vendor: &'static str, named: &'static str, but: &'static [&'static str]) -> Beyond {
    Beyond { vendor, named, but }
}

const CLAUDE: &str = "claude";
const CODEX: &str = "codex";

const BEYOND: &[Beyond] = &[
    // Codex's other mode: the same hook gets the same call
    of(
        CODEX,
        "code mode: ",
        &[
            ": exec_command runs",
            ": exec_command does not run",
            "a patch that adds runs",
            "a patch that adds does not run",
            "every tool that Codex offers",
            "catches the denial",
            "parallel calls each",
            "\"note\" of \"lab\" ",
            "render alike",
            "scope: a patch outside by ..",
            "a patch over the frame",
            "the decider replaces a patch by one out of scope",
            "killed by SIGKILL",
            "first request",
            "a terminal: the entry",
            "does not run an MCP call that is not admitted",
        ],
    ),
    of(CODEX, "mh-run ask, code mode: ", &["deny, and", "side by side", "a sub-agent", "interrupt while a call runs"]),
    of(CODEX, "mh-run, code mode: ", &["an admitted call", "not admitted"]),
    of(CODEX, "round: code mode: ", &["update by .. over a link", "view_image of src/link"]),
    // another spelling of a refused or guarded path
    of(
        CODEX,
        "round: direct: ",
        &[
            "add by .. over a link",
            "move to by",
            "delete by ..",
            "/proc/self/cwd",
            "add by a home",
            "a link that dangles",
            "move to twice",
            "ended by CR LF",
            "behind U+0085",
            "in a heredoc",
            "view_image of src/link",
        ],
    ),
    of(CODEX, "round: a patch over src/", &["own/.codex"]),
    of(CODEX, "round: a patch over /proc/", &["self/root"]),
    of(CODEX, "round: a patch over {P}/", &[]),
    of(CODEX, "*with the picture", &["{P}/k.png"]),
    of(CODEX, "direct: scope: a patch inside, ", &["absolute"]),
    of(CODEX, "direct: scope: a patch a path with", &["at its start"]),
    of(CODEX, "direct: scope: a patch outside, ", &["case"]),
    of(CODEX, "protected: the hook program ", &["deleted"]),
    of(CODEX, "protected: $CODEX_HOME", &["deleted"]),
    of(CODEX, "protected: a config.toml that is a link, ", &["by its own name"]),
    of(CODEX, "direct: MCP \"Note\"", &[]),
    of(CODEX, "direct: MCP \"note_it\"", &[]),
    of(CODEX, "direct: MCP \"dash-name.dot\"", &[]),
    of(CODEX, "direct: MCP \"slash/ed\"", &[]),
    of(CODEX, "direct: MCP \"note\" of \"my-lab\"", &[]),
    of(CODEX, "direct: an admitted patch of 4 MB", &[]),
    of(CODEX, "direct: a patch of 4 MB", &[]),
    // another fault of the same kind
    of(
        CODEX,
        "the hook program ",
        &[
            "is gone",
            "cut short",
            "exits 1 without",
            "exits 101",
            "by SIGKILL",
            "hangs and will",
            "preceded by noise",
            "loses its exit code",
            "no stderr",
            "/dev/null for stderr",
            "neither stdout",
            "half a payload",
            "no memory",
            "(limit",
        ],
    ),
    of(
        CODEX,
        "the decider ",
        &[
            "is not asked",
            "is told the call",
            "says nothing and",
            "allows and then fails",
            "another call",
            "no line of the protocol",
            "without a reason",
            "by what is none",
            "never ends",
            "is gone",
            "grandchild",
            "arguments",
        ],
    ),
    of(
        CODEX,
        "the frame is ",
        &[
            "gone",
            " edited",
            "the same key",
            "cut short",
            "larger",
            "pipe",
            "a folder",
            "/dev/zero",
            "the same document",
        ],
    ),
    of(CODEX, "an MH_", &["MH_FRAME "]),
    of(CODEX, "a frame that is ", &["edited"]),
    of(CODEX, "entry in config.toml: an admitted shell ", &["removes config.toml"]),
    of(CODEX, "agents v1: ", &["an agent starts", "not admitted"]),
    of(CODEX, "*a text of 16,000", &[]),
    // Claude Code: another spelling of a path
    of(
        CLAUDE,
        "round: Grep and Glob in ",
        &[
            "\"src/.. \"",
            "\" {P}\"",
            "\"src/link/../../..\"",
            "\"src/own\"",
            "\"src/hop/secret\"",
            "\" secret\"",
            "feff",
            "\"~/.ssh\"",
            "\"/proc/self/cwd/secret\"",
        ],
    ),
    of(CLAUDE, "round: Glob {", &["[.][.]", "../secret/s.txt", "~/.ssh"]),
    of(CLAUDE, "round: Grep {", &["../secret/**", "\"--files\""]),
    of(CLAUDE, "round: Write to \"", &["src/link", "src/own", "\" {P}", "\"~/o.txt\"", "a.txt/../"]),
    of(CLAUDE, "round: Write to /proc/", &["self/root"]),
    of(CLAUDE, "round: Write to {P}/src/", &["hop"]),
    of(CLAUDE, "round: a Skill given \"", &["see @", "{P}", "a@b.org"]),
    of(CLAUDE, "round: an import in src/", &["src/CLAUDE.md, written", "rules/r.md", "edited in"]),
    of(CLAUDE, "round: a refused file's copy by ", &["an Agent's isolation", "a workflow"]),
    of(CLAUDE, "round: admitted calls of every kind", &["default", "bypassPermissions"]),
    of(CLAUDE, "*by a symlinked fold", &["scope, Write outside", "to the frame"]),
    of(CLAUDE, "*by a symlinked file", &["scope, Edit", "to the frame"]),
    of(CLAUDE, "self-protection, Edit of ", &["the frame"]),
    of(CLAUDE, "a shell writes to ", &["the frame", "the hook program"]),
    of(CLAUDE, "scope, Write inside, ", &["absolute", "by a symlink"]),
    of(
        CLAUDE,
        "scope, Write outside",
        &[", absolute", " by ..", "symlinked folder", "the project", "another case", "/proc/self"],
    ),
    of(CLAUDE, "scope, Glob outside, ", &["by path", "by .."]),
    // a permission mode that does not concern the guard
    of(CLAUDE, "acceptEdits: ", &["policy frame", "not admitted, frame"]),
    of(CLAUDE, "plan: ", &["policy frame", "not admitted, frame"]),
    of(CLAUDE, "auto: ", &["policy frame", "not admitted, frame"]),
    of(CLAUDE, "dontAsk: ", &["policy frame", "not admitted, frame", "deny rule", "agent file", "protects"]),
    // settings that remove hooks: the default set shows the strongest one on each launch, and doctor's cases show each
    // one's effect
    of(
        CLAUDE,
        "*, hooks in managed settings",
        &["disableAllHooks in the project", "--bare", "started in a sub-folder"],
    ),
    of(
        CLAUDE,
        "*, hooks in the project's settings",
        &["disableAllHooks in the local settings, hooks", "--bare", "a comma too many", "updatedInput", "emptied"],
    ),
    of(CLAUDE, "mid-session by Write, ", &["emptied", "local settings"]),
    of(CLAUDE, "mh-setup --user", &["not admitted"]),
    // the same with another kind of agent, command or frame
    of(CLAUDE, "*, subagent.spawn not admitted", &["a nested", "Agent"]),
    of(CLAUDE, "a sub-agent by the old name Task, ", &["shell not"]),
    of(CLAUDE, "a slash command's inline command, the ", &[]),
    of(CLAUDE, "a plugin skill's inline command, strongest launch, the ", &[]),
    of(CLAUDE, "*no call runs where only PreToolUse is set", &["missing"]),
    of(CLAUDE, "a frame that is ", &["missing", "edited: no request", "FIFO"]),
    of(CLAUDE, "MCP (", &["only (\"my server\", \"append\") admitted", "only (\"a__b\", \"c\") admitted"]),
    of(CLAUDE, "MCP \"dot.ted\"", &[]),
    of(CLAUDE, "MCP \"brave-search\"", &[]),
    of(CLAUDE, "fault, a script without its", &[]),
    of(CLAUDE, "fault, a folder in place of the hook", &[]),
    of(CLAUDE, "fault, the hook program ", &["missing", "cut short"]),
    of(CLAUDE, "fault, killed by ", &["SIGKILL"]),
    of(CLAUDE, "fault, exit status 1", &["101", "with an allow"]),
    of(CLAUDE, "the launcher's MH_", &["MH_FRAME,", "MH_DECIDER"]),
    of(CLAUDE, "a decider that ", &["says nothing", "after an allow", "no JSON", "another call", "not there"]),
];

impl Beyond {
    fn has(&self, case: &Case) -> bool {
        let name = case.name.as_str();
        let named = match self.named.strip_prefix('*') {
            Some(part) => name.contains(part),
            None => name.starts_with(self.named),
        };
        // the words of a limit belong to the name here
        let limit = case.limit.is_some() && self.but.contains(&"(limit");
        case.vendor == self.vendor && named && !limit && !self.but.iter().any(|words| name.contains(words))
    }
}

/// Whether a case is in the default set.
pub fn by_default(case: &Case) -> bool {
    !BEYOND.iter().any(|beyond| beyond.has(case))
}

/// A line of the table that fits no case any more, or a word of `but` that fits none.
pub fn stale(cases: &[Case]) -> Option<String> {
    BEYOND.iter().filter(|beyond| cases.iter().any(|case| case.vendor == beyond.vendor)).find_map(|beyond| {
        let whole = Beyond { but: &[], ..*beyond };
        let held: Vec<&Case> = cases.iter().filter(|case| whole.has(case)).collect();
        let mut words = beyond.but.iter().filter(|words| **words != "(limit");
        let lost = words.find(|words| !held.iter().any(|case| case.name.contains(**words)));
        match (lost, cases.iter().any(|case| beyond.has(case))) {
            (Some(lost), _) => {
                Some(format!("no case of {} {:?} has {lost:?} in its name", beyond.vendor, beyond.named))
            }
            (None, false) => Some(format!("no case of {} is beyond by {:?}", beyond.vendor, beyond.named)),
            (None, true) => None,
        }
    })
}

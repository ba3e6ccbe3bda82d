//! How a pair of MCP server and tool becomes one tool name, and what can be read back from it.
//!
//! Both vendors write `mcp__SERVER__TOOL` and replace what their alphabet lacks by `_`. Nothing
//! in the result says where the server ends.

/// What every rendered MCP tool name begins with.
pub const PREFIX: &str = "mcp__";

/// How a rendered name looks, for people.
pub const FORM: &str = "mcp__SERVER__TOOL";

/// What stands between server and tool.
const SEPARATOR: &str = "__";

/// A name as Codex 0.171.0 renders it, the narrower alphabet of the two: everything outside
/// `[A-Za-z0-9_]` becomes `_`.
pub fn narrow(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// A name as Claude Code 2.1.332 renders it: everything outside `[A-Za-z0-9_-]` becomes `_`, one
/// for each UTF-16 unit.
pub fn wide(name: &str) -> String {
    name.encode_utf16()
        .map(|unit| match char::from_u32(unit.into()) {
            Some(c) if c.is_ascii_alphanumeric() || c == '-' => c,
            _ => '_',
        })
        .collect()
}

/// The tool name that two rendered halves make.
pub fn join(server: &str, tool: &str) -> String {
    format!("{PREFIX}{server}{SEPARATOR}{tool}")
}

/// Every way to read a rendered tool name as server and tool, neither of them empty. Separators
/// overlap: `a___b` is `a` and `_b`, or `a_` and `b`.
pub fn splits(tool_name: &str) -> impl Iterator<Item = (&str, &str)> {
    let pair = tool_name.strip_prefix(PREFIX).unwrap_or_default();
    (1..pair.len())
        .filter(move |at| pair.is_char_boundary(*at) && pair[*at..].starts_with(SEPARATOR))
        .map(move |at| (&pair[..at], &pair[at + SEPARATOR.len()..]))
        .filter(|(_, tool)| !tool.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rendered_name_splits_wherever_two_underscores_meet() {
        let all = |name| splits(name).collect::<Vec<_>>();
        assert_eq!(all("mcp__lab__note"), [("lab", "note")]);
        assert_eq!(all("mcp__a__b__note"), [("a", "b__note"), ("a__b", "note")]);
        assert_eq!(all("mcp__a___b"), [("a", "_b"), ("a_", "b")]);
        for none in ["Bash", "mcp__lab", "mcp____x", "mcp__lab__", "mcp_lab__x", ""] {
            assert_eq!(all(none), [], "{none}");
        }
    }

    #[test]
    fn names_are_rendered_as_the_vendors_were_seen_to() {
        assert_eq!(wide("Ünï"), "_n_");
        assert_eq!(wide("my server"), "my_server");
        assert_eq!(wide("dash-name.dot"), "dash-name_dot");
        assert_eq!(wide("😀"), "__");
        assert_eq!(narrow("dash-name.dot"), "dash_name_dot");
    }
}

//! The tool name that a vendor makes from an MCP server and tool, and the readings of such a name.
//!
//! A vendor writes `mcp__SERVER__TOOL`, or joins the two in another way, and replaces characters outside its alphabet
//! by `_`. The result does not show where the server ends.

/// A vendor's rule for making one name from a server's and a tool's.
#[derive(Debug, PartialEq, Eq)]
pub struct Rendering {
    /// The beginning of every rendered name: `mcp__`.
    pub prefix: &'static str,
    /// The text between server and tool: `__`.
    pub separator: &'static str,
    /// The characters that are kept besides ASCII letters and digits; any other becomes `_`.
    pub kept: &'static [char],
    /// Whether a replaced character becomes one `_` for each of its UTF-16 units, instead of one.
    pub units: bool,
}

impl Rendering {
    /// The vendor's rendering of a server's or a tool's name.
    pub fn of(&self, name: &str) -> String {
        let one = |c: char| match c.is_ascii_alphanumeric() || self.kept.contains(&c) {
            true => (c, 1),
            false => ('_', if self.units { c.len_utf16() } else { 1 }),
        };
        name.chars().map(one).flat_map(|(c, times)| std::iter::repeat_n(c, times)).collect()
    }

    /// The tool name from two rendered halves.
    pub fn join(&self, server: &str, tool: &str) -> String {
        format!("{}{server}{}{tool}", self.prefix, self.separator)
    }

    /// The form of rendered names, for people.
    pub fn form(&self) -> String {
        self.join("SERVER", "TOOL")
    }

    /// Every way to read a rendered tool name as server and tool, neither of them empty. Separators overlap: `a___b` is
    /// `a` and `_b`, or `a_` and `b`.
    pub fn splits<'a>(&self, tool_name: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let (pair, separator) = (tool_name.strip_prefix(self.prefix).unwrap_or_default(), self.separator);
        (1..pair.len())
            .filter(move |at| pair.is_char_boundary(*at) && pair[*at..].starts_with(separator))
            .map(move |at| (&pair[..at], &pair[at + separator.len()..]))
            .filter(|(_, tool)| !tool.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rendered_name_splits_wherever_two_underscores_meet() {
        let plain = Rendering { prefix: "mcp__", separator: "__", kept: &[], units: false };
        let all = |name| plain.splits(name).collect::<Vec<_>>();
        assert_eq!(all("mcp__lab__note"), [("lab", "note")]);
        assert_eq!(all("mcp__a__b__note"), [("a", "b__note"), ("a__b", "note")]);
        assert_eq!(all("mcp__a___b"), [("a", "_b"), ("a_", "b")]);
        for none in ["Bash", "mcp__lab", "mcp____x", "mcp__lab__", "mcp_lab__x", ""] {
            assert_eq!(all(none), [], "{none}");
        }
    }
}

//! What a block says of itself, and what a model is to say.

/// What a block is.
#[derive(Debug, PartialEq, Eq)]
pub enum Mark {
    Run,
    /// The vendor's word.
    RunVendor(String),
    /// Why no test runs it.
    NotRun(String),
    /// The name of a file, from the page's folder or from `~`.
    File(String),
    Picture,
}

impl Mark {
    pub(crate) fn of(info: &str) -> Result<Mark, String> {
        let (_, mark) = info.split_once(' ').unwrap_or((info, ""));
        let (word, rest) = mark.split_once(' ').unwrap_or((mark, ""));
        match (word, rest.trim()) {
            ("run", "" | "whole") => Ok(Mark::Run),
            ("run-vendor", "") => Err("run-vendor says which vendor: claude or codex".into()),
            ("run-vendor", vendor) => Ok(Mark::RunVendor(vendor.into())),
            ("not-run:", "") => Err("not-run: says why".into()),
            ("not-run:", why) => Ok(Mark::NotRun(why.into())),
            ("file", "") => Err("file says its name".into()),
            ("file", name) => Ok(Mark::File(name.into())),
            ("picture", "") => Ok(Mark::Picture),
            ("", _) => {
                Err("this block says nothing of itself: run, run-vendor VENDOR, not-run: WHY, file NAME or picture"
                    .into())
            }
            _ => Err(format!("{mark:?} is no mark: run, run-vendor VENDOR, not-run: WHY, file NAME or picture")),
        }
    }

    pub(crate) fn runs(&self) -> bool {
        matches!(self, Mark::Run | Mark::RunVendor(_))
    }
}

/// What the model answers to one prompt: calls, one an answer, and its last words.
#[derive(Debug, PartialEq, Eq)]
pub struct Model {
    pub prompt: String,
    /// The tool and its input, as JSON.
    pub calls: Vec<(String, String)>,
    pub says: String,
}

impl Model {
    /// `<!-- model "PROMPT"`, then a line each: `calls TOOL {…}`, `says TEXT`, and `-->`.
    pub(crate) fn of(comment: &str) -> Result<Model, String> {
        let mut lines = comment.trim_end_matches("-->").lines();
        let first = lines.next().unwrap_or_default().trim_start_matches("<!-- model ").trim();
        let prompt = first.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let prompt = prompt.ok_or("a model's comment begins with its prompt: <!-- model \"PROMPT\"")?;
        let mut model = Model { prompt: prompt.into(), calls: Vec::new(), says: String::new() };
        for line in lines.filter(|line| !line.trim().is_empty()) {
            match line.split_once(' ') {
                Some(("calls", call)) => {
                    let (tool, input) = call.split_once(' ').ok_or_else(|| format!("{line:?} has no input"))?;
                    model.calls.push((tool.into(), input.into()));
                }
                Some(("says", words)) => model.says = words.into(),
                _ => return Err(format!("a model calls or says, and this is neither: {line:?}")),
            }
        }
        Ok(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_told_in_a_comment_that_no_reader_sees() {
        let model = Model::of("<!-- model \"do it\"\ncalls Bash {\"command\": \"true\"}\nsays Done.\n-->").unwrap();
        assert_eq!(model.prompt, "do it");
        assert_eq!(model.calls, [("Bash".to_string(), "{\"command\": \"true\"}".to_string())]);
        assert_eq!(model.says, "Done.");
        assert!(Model::of("<!-- model do it\n-->").is_err());
        assert!(Model::of("<!-- model \"do it\"\nsings\n-->").is_err());
    }
}

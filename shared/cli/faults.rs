//! The faults of a document, for its author.

use crate::frame::{OPTIONAL, Part};
use crate::json::{Layout, Writer};
use crate::os::complain;
use crate::seal::{DocumentFault, Refusal, faults};

/// Every fault of a refused document.
#[derive(Default)]
pub(super) struct Faults {
    all: Vec<DocumentFault>,
    untold: usize,
}

impl Faults {
    /// The faults in these bytes; `sealed` requires a tag and a digest. There are none if the document is well formed
    /// but differs from its digest or from the wanted one.
    pub(super) fn of(refusal: &Refusal, bytes: &[u8], sealed: bool) -> Faults {
        match refusal {
            Refusal::NotJson(_) | Refusal::Untagged(_) | Refusal::Misshapen(_) | Refusal::NeverSealed => {
                let (all, untold) = faults(bytes, sealed);
                Faults { all, untold }
            }
            _ => Faults::default(),
        }
    }

    /// Write a line for each to stderr, after the place in the form that editors follow.
    pub(super) fn tell(&self, program: &str, file: &str) {
        for DocumentFault { place, what, .. } in &self.all {
            complain(program, &format!("{file}:{}:{}: {what}", place.line, place.column));
        }
        if self.untold > 0 {
            complain(program, &format!("{file}: and {} more", self.untold));
        }
        if self.all.iter().any(|fault| fault.missing) {
            complain(program, &format!("{file}: {OPTIONAL}"));
        }
    }

    /// Write the members of a refusal.
    fn write(&self, out: &mut Writer) {
        if self.all.is_empty() {
            return;
        }
        out.key("faults");
        out.array();
        for DocumentFault { at, place, what, .. } in &self.all {
            out.object();
            out.member("path", &place.path);
            out.key("line");
            out.number(place.line as u64);
            out.key("column");
            out.number(place.column as u64);
            out.key("byte");
            out.number(*at as u64);
            out.member("what", what);
            out.end_object();
        }
        out.end_array();
        if self.untold > 0 {
            out.key("faults_untold");
            out.number(self.untold as u64);
        }
    }
}

/// The `--json` line of one document: in order, or refused, with the refusal's name and reason. `parts` are the effects
/// of the frame's parts, if they were asked for.
pub(super) fn json_line(
    file: &str,
    found: Result<&str, (&str, &str, &Faults)>,
    warnings: &[String],
    parts: &[Part],
) -> String {
    let mut out = Writer::new(Layout::Canonical);
    out.object();
    out.member("file", file);
    out.key("ok");
    out.flag(found.is_ok());
    out.nullable("digest", found.ok());
    out.key("refusal");
    match found {
        Ok(_) => out.null(),
        Err((name, why, faults)) => {
            out.object();
            out.member("name", name);
            out.member("why", why);
            faults.write(&mut out);
            out.end_object();
        }
    }
    out.key("warnings");
    out.array();
    warnings.iter().for_each(|warning| out.string(warning));
    out.end_array();
    if !parts.is_empty() {
        out.key("parts");
        out.array();
        for Part { key, held, how, here } in parts {
            out.object();
            out.member("key", key);
            out.member("held", held.word());
            out.nullable("how", Some(*how).filter(|how| !how.is_empty()));
            out.nullable("here", Some(&**here).filter(|here| !here.is_empty()));
            out.end_object();
        }
        out.end_array();
    }
    out.end_object();
    out.finish() + "\n"
}

//! What is wrong with a document, told to the one who writes it.

use crate::frame::{OPTIONAL, Part};
use crate::json::{Layout, Writer};
use crate::os::complain;
use crate::seal::{DocumentFault, Refusal, faults};

/// Everything that is wrong with a document that was refused.
#[derive(Default)]
pub(super) struct Faults {
    all: Vec<DocumentFault>,
    untold: usize,
}

impl Faults {
    /// Those of these bytes; `sealed` says whether they have to have a tag and a digest. Of a document that is well
    /// formed, and another one than it says or than is wanted, there are none.
    pub(super) fn of(refusal: &Refusal, bytes: &[u8], sealed: bool) -> Faults {
        match refusal {
            Refusal::NotJson(_) | Refusal::Untagged(_) | Refusal::Misshapen(_) | Refusal::NeverSealed => {
                let (all, untold) = faults(bytes, sealed);
                Faults { all, untold }
            }
            _ => Faults::default(),
        }
    }

    /// A line each on stderr, behind the place that editors go to.
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

    /// Members of a refusal.
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

/// What `--json` says of one document: in order, or refused under a name, and by what. `parts` are what becomes of those
/// of the frame, where that is asked for.
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

//! Where in a frame a value stands.

use std::fmt;

/// Where a value stands, put into words only when something is wrong with it.
#[derive(Clone, Copy)]
pub(super) struct MemberPlace {
    list: &'static str,
    index: Option<usize>,
    field: &'static str,
    /// Where `field` is a list itself: which of its items, and what of that.
    inner: Option<usize>,
    last: &'static str,
}

impl fmt::Display for MemberPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.list)?;
        if let Some(index) = self.index {
            write!(f, "[{index}]")?;
        }
        f.write_str(self.field)?;
        if let Some(inner) = self.inner {
            write!(f, "[{inner}]")?;
        }
        f.write_str(self.last)
    }
}

impl From<&'static str> for MemberPlace {
    fn from(list: &'static str) -> Self {
        MemberPlace { list, index: None, field: "", inner: None, last: "" }
    }
}

impl MemberPlace {
    pub(super) fn item(self, index: usize) -> MemberPlace {
        match self.index {
            None => MemberPlace { index: Some(index), ..self },
            Some(_) => MemberPlace { inner: Some(index), ..self },
        }
    }

    pub(super) fn dot(self, key: &'static str) -> MemberPlace {
        match self.inner {
            None => MemberPlace { field: key, ..self },
            Some(_) => MemberPlace { last: key, ..self },
        }
    }

    /// The last key on the way to it.
    pub(super) fn last(self) -> &'static str {
        let way = [self.last, self.field, self.list].into_iter().find(|key| !key.is_empty()).unwrap_or_default();
        way.rsplit('.').next().unwrap_or(way)
    }
}

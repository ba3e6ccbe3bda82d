//! The options behind `--`, which are passed on to the vendor.

use std::ffi::OsString;

use super::{Run, Shadowed};

/// An option of a vendor that may be passed on, since it removes nothing from the guard.
#[derive(Debug)]
pub struct Passed {
    pub name: &'static str,
    /// Whether a value follows.
    pub value: bool,
}

/// An option without a value.
pub const fn flag(name: &'static str) -> Passed {
    Passed { name, value: false }
}

/// An option with a value.
pub const fn valued(name: &'static str) -> Passed {
    Passed { name, value: true }
}

/// The options that may be passed to a vendor.
#[derive(Debug)]
pub struct VendorOptions {
    /// The long names. None of these options loads settings, plugins or agents (each may hold hooks), answers prompts,
    /// or removes a part of the launch.
    pub passed: &'static [Passed],
    /// Short names with their long names.
    pub short: &'static [(&'static str, &'static str)],
    /// The option that sets a key of the configuration.
    pub settings: Option<SettingOption>,
}

impl VendorOptions {
    /// The options in words.
    fn told(&self) -> String {
        let names = self.passed.iter().map(|passed| match passed.value {
            true => format!("{} VALUE", passed.name),
            false => passed.name.into(),
        });
        format!("behind -- may stand: {}", names.collect::<Vec<_>>().join(", "))
    }
}

/// An option that sets a key of the configuration.
#[derive(Debug)]
pub struct SettingOption {
    pub option: &'static str,
    /// The name that people use.
    pub shown: &'static str,
    /// The keys that it may set. A key that ends in a dot stands for every key below it.
    pub keys: &'static [&'static str],
}

impl SettingOption {
    /// Whether this setting is allowed.
    fn harmless(&self, setting: &str) -> bool {
        let Some((key, _)) = setting.split_once('=') else { return false };
        let key = key.trim();
        let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
        plain && self.keys.iter().any(|known| if known.ends_with('.') { key.starts_with(known) } else { key == *known })
    }
}

/// Check the options behind `--`. Each is spelled out with its value, so that none can be read in two ways.
///
/// # Errors
/// The first option that is not on the list.
pub fn options(vendor: &dyn Run, given: &[OsString]) -> Result<Vec<String>, Shadowed> {
    let allowed = vendor.options();
    let product = vendor.facts().word;
    let mut taken = Vec::new();
    let mut words = given.iter();
    while let Some(word) = words.next() {
        let word = word.to_str().ok_or_else(|| Shadowed::by(word.to_string_lossy(), "it is not UTF-8"))?;
        let long = allowed.short.iter().find(|(short, _)| *short == word).map_or(word, |(_, long)| long);
        let (name, joined) = match long.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value)),
            _ => (long, None),
        };
        let passed = allowed.passed.iter().find(|passed| passed.name == name).ok_or_else(|| {
            Shadowed::by(
                word,
                format!("not an option that can be passed to {product} under a frame; {}", allowed.told()),
            )
        })?;
        if !passed.value {
            match joined {
                None => taken.push(name.into()),
                Some(_) => return Err(Shadowed::by(word, format!("it takes no value: write {name}"))),
            }
            continue;
        }
        let value = match joined {
            Some(value) => value,
            None => words
                .next()
                .and_then(|value| value.to_str())
                .ok_or_else(|| Shadowed::by(word, format!("its value is missing: write {name}=VALUE")))?,
        };
        if let Some(settings) = allowed.settings.as_ref().filter(|settings| settings.option == name)
            && !settings.harmless(value)
        {
            return Err(Shadowed::by(
                format!("{} {value}", settings.shown),
                format!("not a key that can be set under a frame; these can: {}", settings.keys.join(", ")),
            ));
        }
        // alone, a value that begins with a dash would be read as an option
        taken.push(format!("{name}={value}"));
    }
    Ok(taken)
}

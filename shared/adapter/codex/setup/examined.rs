//! An examination of the configuration that Codex reads in one folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::shell::{ShellKind, zsh_start_up};
use super::{
    Around, ConfigEntry, ConfigFile, ConfigFiles, ConfigRank, Older, distrust, features_lost, found, others, own_home,
};
use crate::adapter::codex::{Codex, PROJECTS_GATED_FROM, command, parts};
use crate::adapter::setup::report::{Liveness, Report, SeenFile};
use crate::adapter::setup::terms::names;
use crate::adapter::setup::tree::Spanned;
use crate::adapter::setup::{Depth, Examined, Trial, Unplaced, WholeEntry, Wiring, mcp_call, payloads};
use crate::os::permissions;
use crate::os::release::{Installed, Release, installed};

/// The configuration that is read in one folder.
pub(super) struct ReadConfig {
    places: ConfigFiles,
    files: Vec<ConfigFile>,
    around: Around,
    /// Whether a project that is not trusted has no effect.
    gated: bool,
}

impl ReadConfig {
    pub(super) fn read(etc: &Path, project: &Path) -> Result<ReadConfig, Unplaced> {
        let places = ConfigFiles { etc: etc.into(), home: own_home()?, project: project.into() };
        let gated = match installed(Codex::FACTS.word) {
            Installed::At(_, release) => Release::find(PROJECTS_GATED_FROM).is_none_or(|from| release >= from),
            _ => true,
        };
        let around = Around::of(&places.home, project, &own);
        Ok(ReadConfig { files: places.read(), places, around, gated })
    }

    /// Whether a project's file has an effect.
    fn trusts(&self, file: &ConfigFile) -> bool {
        let user = self.files.iter().find(|file| file.rank == ConfigRank::User).and_then(|file| file.root.as_ref());
        !self.gated || self.places.trusted(user, &file.path)
    }
}

impl Examined for ReadConfig {
    fn files(&self) -> Vec<SeenFile> {
        self.files.iter().map(seen).collect()
    }

    fn entries(&self, report: &mut Report) -> Vec<WholeEntry> {
        entries(&self.files, report)
    }

    fn absent(&self, report: &mut Report) {
        report.why.push("nothing of ours in any file that is read here; say mh-setup codex --frame FILE".into());
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        self.around.variable(name, &own)
    }

    fn look(&self, guard: &WholeEntry, _: Depth, report: &mut Report) {
        losses(&self.files, self.files[guard.at].rank, &|file| self.trusts(file), report);
        environment(&self.around, guard, &self.places.home, report);
    }

    fn trial(&self, _: &WholeEntry) -> Trial {
        let project = &self.places.project;
        let common = json!({"session_id": "mh-doctor", "turn_id": "mh-doctor", "transcript_path": null, "cwd": project,
                            "model": "mh-doctor", "permission_mode": "default"});
        let patch = "*** Begin Patch\n*** Add File: mh-doctor\n+\n*** End Patch";
        let calls: Vec<(&str, Value)> = vec![
            ("Bash", json!({"command": "true"})),
            ("apply_patch", json!({"command": patch})),
            ("view_image", json!({"path": project.join("mh-doctor.png")})),
            ("spawn_agent", json!({"message": ""})),
            ("update_plan", json!({"plan": []})),
            mcp_call(),
            ("get_context_remaining", json!({})),
        ];
        let (calls, quiet) = payloads(&Codex::FACTS, &common, calls);
        let set = self.around.set().iter();
        Trial {
            shell: Some(self.around.shell.clone()),
            variables: set.map(|(name, value)| (name.into(), value.into())).collect(),
            wiring: Wiring::Pipes,
            calls,
            quiet,
        }
    }
}

/// A variable of this process.
fn own(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

/// Report the environment's effects on the line, and the files that its shell reads first.
fn environment(around: &Around, guard: &WholeEntry, configuration: &Path, report: &mut Report) {
    let file = around.file.display().to_string();
    let status = match &around.set {
        Err(why) => {
            report.why.push(format!("{file}: what Codex puts into the environment is not known: {why}; put it right"));
            format!("cannot be read: {why}")
        }
        Ok(_) if !around.file.exists() => "absent".into(),
        Ok(set) => format!("read, {} variables", set.len()),
    };
    report.layers.push(SeenFile { layer: "environment", file, status, entries: 0, others: Vec::new() });
    let names: Vec<_> = std::env::vars_os().map(|(name, _)| name).collect();
    let names = names.iter().map(std::ffi::OsString::as_os_str);
    let sealed_off = guard.shell.as_deref().and_then(parts).is_some_and(|parts| parts.sealed_off);
    report.losses.extend(around.losses(names, sealed_off, configuration, &own));
    if around.kind == ShellKind::Zsh {
        start_up(around, report);
    }
}

fn seen(file: &ConfigFile) -> SeenFile {
    let status = match &file.broken {
        _ if !file.present => "absent".into(),
        Some(why) => format!("does not load: {why}"),
        None => "read".into(),
    };
    let root = file.root.as_ref();
    let entries = root.map(|root| found(root).iter().filter(|(_, _, found)| *found != ConfigEntry::Nothing).count());
    SeenFile::new(file.rank.word(), &file.path, status, entries, root.map(others))
}

/// The complete entries, trusted where that is needed, the strongest last. If there is none, the report gets what is
/// there instead.
fn entries(files: &[ConfigFile], report: &mut Report) -> Vec<WholeEntry> {
    let mut all = Vec::new();
    for (at, config) in files.iter().enumerate() {
        let file = config.path.display();
        if let Some(why) = &config.broken {
            let text = fs_err::read_to_string(&config.path).unwrap_or_default();
            if names(&text, Codex::FACTS.program) {
                report.state = Liveness::NotLive;
                report.why.push(format!("{file}: it does not load: {why}"));
            }
            continue;
        }
        let Some(root) = &config.root else { continue };
        let found = found(root);
        if found.iter().all(|(_, _, found)| *found == ConfigEntry::Nothing) {
            continue;
        }
        if matches!(config.rank, ConfigRank::Profile | ConfigRank::Project | ConfigRank::Hooks) {
            report.notes.push(format!("{file}: an entry of ours where mh-setup writes none; it is not relied on"));
            report.state = if report.state == Liveness::Absent { Liveness::Altered } else { report.state };
            continue;
        }
        match complete(at, config, found) {
            Ok(whole) => all.push(whole),
            Err((state, why)) => {
                report.state = state;
                report.why.extend(why.into_iter().map(|why| format!("{file}: {why}; say mh-setup codex again")));
            }
        }
    }
    if !all.is_empty() {
        report.notes.append(&mut report.why);
    }
    let heard =
        |file: &&ConfigFile| !matches!(file.rank, ConfigRank::Profile | ConfigRank::Project | ConfigRank::Hooks);
    let broken = files.iter().filter(heard).filter_map(|file| Some((file, file.broken.as_ref()?)));
    let nothing = all.is_empty() && report.state == Liveness::Absent;
    for (config, why) in broken.filter(|_| nothing) {
        report.unreadable(&config.path, why);
    }
    all
}

type All = Vec<(&'static str, &'static str, ConfigEntry)>;

/// The one line of all our events.
fn complete(at: usize, config: &ConfigFile, all: All) -> Result<WholeEntry, (Liveness, Vec<String>)> {
    let (mut altered, mut unheard, mut whole) = (Vec::new(), Vec::new(), None);
    for (event, snake, found) in all {
        let of = |line, terms, shell, older| WholeEntry {
            at,
            file: config.path.clone(),
            line,
            terms,
            shell: Some(shell),
            older,
        };
        let (found, group) = match found {
            ConfigEntry::Nothing => {
                altered.push(format!("hooks.{event} has no entry of ours"));
                continue;
            }
            ConfigEntry::Altered(what) => {
                altered.push(format!("hooks.{event}: {what}"));
                continue;
            }
            ConfigEntry::Exact(line, terms, group) => {
                let command = command(&line);
                (of(line, terms, command, None), group)
            }
            ConfigEntry::Older(Older { line, terms, at, command, why }) => (of(line, terms, command, Some(why)), at),
        };
        if let (ConfigRank::User, Some(root), Some(command)) = (config.rank, &config.root, &found.shell) {
            let file = config.path.to_string_lossy();
            unheard.extend(distrust(root, &file, snake, group, command).map(|why| format!("hooks.{event}: {why}")));
        }
        if !whole.get_or_insert_with(|| found.clone()).goes_with(&found) {
            altered.push(format!("hooks.{event} has another line than the events before it"));
        }
    }
    match whole {
        _ if !altered.is_empty() => Err((Liveness::Altered, altered)),
        _ if !unheard.is_empty() => Err((Liveness::NotLive, unheard)),
        Some(whole) => Ok(whole),
        None => Err((Liveness::Altered, vec!["no entry of ours".into()])),
    }
}

/// Report what disables the guard, and what would disable it in another start.
fn losses(files: &[ConfigFile], guard: ConfigRank, trusted: &dyn Fn(&ConfigFile) -> bool, report: &mut Report) {
    let counts = |config: &&ConfigFile| match config.rank {
        ConfigRank::Project => trusted(config),
        ConfigRank::Profile | ConfigRank::Hooks => false,
        _ => true,
    };
    let counting: Vec<&ConfigFile> = files.iter().filter(counts).collect();
    let user =
        files.iter().find(|config| config.rank == ConfigRank::User).map(|config| config.path.display().to_string());
    for config in files.iter().filter(|config| config.rank == ConfigRank::Profile) {
        // merged over the user's own (measured); no other file's is
        let state = config.root.as_ref().and_then(|root| root.find(&["hooks", "state"])).map(Spanned::members);
        for member in state.unwrap_or_default() {
            let ours = user.as_ref().is_some_and(|user| member.key.starts_with(&format!("{user}:")));
            let off = member.node.get("enabled").and_then(Spanned::bool) == Some(false);
            if ours && (off || member.node.get("trusted_hash").is_some()) {
                let what = if off { "switches the entry there off" } else { "says what is trusted there instead" };
                let (file, key) = (config.path.display(), &member.key);
                report.notes.push(format!("with -p alone: {file}: hooks.state.\"{key}\" {what}; take it out"));
            }
        }
    }
    report.losses.extend(features_lost(&counting));
    for config in files {
        let file = config.path.display();
        let when = match config.rank {
            ConfigRank::Profile => "with -p alone: ",
            ConfigRank::Project if !trusted(config) => "once the project is trusted: ",
            _ => "",
        };
        if let Some(why) = config.stops() {
            let why = format!("{when}{file}: codex does not start: {why}");
            if when.is_empty() { report.why.push(why) } else { report.notes.push(why) }
        }
        match config.rank {
            _ if !when.is_empty() => {
                report.notes.extend(config.losses().into_iter().map(|loss| format!("{when}{}", loss.line())));
            }
            ConfigRank::Requirements if guard != ConfigRank::Requirements => {
                report.losses.extend(config.losses().into_iter().filter(|loss| loss.key == "allow_managed_hooks_only"));
            }
            ConfigRank::Hooks => {
                let odd =
                    config.odd_key().map(|key| format!("`{key}` is none of its keys, so none of its hooks is run"));
                report.notes.extend(config.broken.clone().or(odd).map(|why| format!("{file}: {why}")));
            }
            _ => {}
        }
    }
}

/// Report the files that zsh reads before it runs the line.
fn start_up(around: &Around, report: &mut Report) {
    let folder = |name: &str| around.variable(name, &own).map(PathBuf::from);
    for file in zsh_start_up(folder("HOME").as_deref(), folder("ZDOTDIR").as_deref()) {
        let who = if permissions::open_to_me(&file) { "; you, and an agent with a shell, can write it" } else { "" };
        let what = "zsh runs it before every hook, and one that exits 0 lets every call run";
        report.notes.push(format!(
            "{}: {what}{who}; ZDOTDIR set to an empty folder leaves out the one in your home",
            file.display()
        ));
    }
}

//! The documents: every block says what it is, every command on a page is run and prints what stands there, every link
//! leads somewhere.
//!
//! `MH_DOCS=write cargo test --test it docs::` writes what the commands print into the pages; look at the diff. What only
//! a real vendor can print, `MH_DOCS=write tests/vendors/run --only docs:` writes.

use std::path::Path;

use fs_err as fs;
use metaharness::adapter::claude::Claude;
use metaharness::adapter::codex::Codex;
use metaharness::adapter::run::Run as VendorRun;
use page_check::{Mark, Page, Place, alike, differs, play, rewritten};

use crate::common::home::Home;
use crate::common::{program, run, side_by_side};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The most blocks that no test runs, in all pages together.
const NOT_RUN: usize = 5;

/// The pages, read.
#[track_caller]
fn pages() -> Vec<Page> {
    let of = |folder: &str| {
        let path = Path::new(ROOT).join(folder);
        let names = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().to_str().unwrap().to_string());
        names.map(|name| format!("{folder}{name}")).filter(|name| name.ends_with(".md")).collect::<Vec<_>>()
    };
    let mut names = [of(""), of("docs/")].concat();
    names.sort();
    let (pages, faults): (Vec<_>, Vec<_>) =
        names.iter().map(|name| Page::read(Path::new(ROOT), name)).partition(Result::is_ok);
    let faults: Vec<String> = faults.into_iter().filter_map(Result::err).flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    pages.into_iter().filter_map(Result::ok).collect()
}

#[test]
fn every_block_says_what_it_is_and_nearly_every_command_is_run() {
    let pages = pages();
    assert!(pages.iter().any(|page| page.name == "docs/frame.md"));
    let runs = |mark: &Mark| matches!(mark, Mark::Run | Mark::RunVendor(_));
    let blocks = || pages.iter().flat_map(|page| page.blocks.iter().map(move |block| (page, block)));
    assert!(blocks().filter(|(_, block)| runs(&block.mark)).count() > 20);
    let left_out: Vec<String> = blocks()
        .filter_map(|(page, block)| match &block.mark {
            Mark::NotRun(why) => Some(format!("{}:{}: {why}", page.name, block.line)),
            _ => None,
        })
        .collect();
    assert!(left_out.len() <= NOT_RUN, "{left_out:#?}");
    // a command in a block that is no block of commands would be run by nobody
    for (page, block) in blocks().filter(|(_, block)| matches!(block.mark, Mark::Picture | Mark::File(_))) {
        let hidden = page.lines[block.text.clone()].iter().find(|line| line.starts_with("$ "));
        assert_eq!(hidden, None, "{}:{}", page.name, block.line);
    }
}

#[test]
fn every_command_prints_what_its_page_shows() {
    let pages: Vec<Page> =
        pages().into_iter().filter(|page| page.blocks.iter().any(|one| one.mark == Mark::Run)).collect();
    let write = std::env::var_os("MH_DOCS").is_some_and(|value| value == "write");
    let faults = side_by_side(&pages, |page| {
        let (_kept, place) = place();
        let said = match play(page, &place, |mark| *mark == Mark::Run) {
            Ok(said) => said,
            Err(why) => return vec![why],
        };
        if write {
            fs::write(Path::new(ROOT).join(&page.name), rewritten(page, &said)).unwrap();
            return Vec::new();
        }
        let mut faults = Vec::new();
        for one in &said {
            let (shown, printed) = (page.shown(&one.step), one.output.lines().collect::<Vec<_>>());
            if !alike(&shown, &printed) {
                let at = format!("{}:{}: {}", page.name, one.step.shown.start, one.step.command);
                faults.push(format!("{at}\n  {}", differs(&shown, &printed)));
            }
        }
        faults
    });
    let faults = faults.concat();
    assert!(faults.is_empty(), "MH_DOCS=write cargo test --test it docs:: writes these anew\n{}", faults.join("\n"));
}

/// A newcomer's home, and what holds it.
fn place() -> (tempfile::TempDir, Place) {
    let kept = Home::beside();
    let home = kept.path().join("ada");
    fs::create_dir(&home).unwrap();
    let built = program("mh-run");
    let place = Place::new(&home, built.parent().unwrap(), Path::new(ROOT)).unwrap();
    (kept, place)
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_are_there() {
    let pages = pages();
    let mut lost = Vec::new();
    for page in &pages {
        let folder = Path::new(&page.name).parent().unwrap();
        for (line, target) in page.links() {
            if target.contains("://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() {
                Path::new(ROOT).join(&page.name)
            } else {
                Path::new(ROOT).join(folder).join(file)
            };
            let to = fs::canonicalize(path).ok();
            let known =
                |to: &Path| pages.iter().find(|page| fs::canonicalize(Path::new(ROOT).join(&page.name)).unwrap() == to);
            let there = to.as_deref().is_some_and(|to| {
                anchor.is_empty() || known(to).is_some_and(|page| page.anchors().iter().any(|one| one == anchor))
            });
            if !there {
                lost.push(format!("{}:{line}: {target}", page.name));
            }
        }
    }
    assert!(lost.is_empty(), "{lost:#?}");
}

#[test]
fn a_page_is_held_to_its_commands() {
    let (_kept, place) = place();
    let text = "```sh file ~/say\n#!/bin/sh\necho \"$1\"; exit 3\n```\n\n```console run\n$ cd ..; ~/say \"$PWD\"; echo $?\nwhat stood here\n\
                3\n$ echo $?\n0\n```\n";
    let page = Page::of("docs/made-up.md", text).unwrap();
    let said = play(&page, &place, |mark| *mark == Mark::Run).unwrap();
    let printed: Vec<&str> = said.iter().map(|one| one.output.as_str()).collect();
    assert_eq!(printed, ["/home/ada\n3", "0"]);
    assert!(!alike(&page.shown(&said[0].step), &["/home/ada", "3"]));
    let anew = rewritten(&page, &said);
    assert_eq!(anew, text.replace("what stood here", "/home/ada"));
    // a shell that is left in the middle of a page has not run it
    let page = Page::of("docs/made-up.md", "```console run\n$ exit\n$ true\n```\n").unwrap();
    assert!(play(&page, &place, |_| true).is_err());
}

/// The rows of the first table under a heading, each cell's words between backticks.
#[track_caller]
fn table(page: &str, heading: &str) -> Vec<Vec<Vec<String>>> {
    let text = fs::read_to_string(Path::new(ROOT).join(page)).unwrap();
    let (_, section) = text.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("{page} has no {heading}"));
    let rows = section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let words = |cell: &str| cell.split('`').skip(1).step_by(2).map(String::from).collect();
    rows.skip(2).map(|row| row.split('|').skip(1).map(words).collect()).collect()
}

/// All words of a column, in order of the alphabet.
fn column(rows: &[Vec<Vec<String>>], at: usize) -> Vec<String> {
    let mut all: Vec<String> = rows.iter().flat_map(|row| row[at].clone()).collect();
    all.sort();
    all
}

fn sorted(names: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    let mut all: Vec<String> = names.into_iter().map(Into::into).collect();
    all.sort();
    all
}

fn schema(name: &str) -> serde_json::Value {
    let file = Path::new(ROOT).join(format!("shared/schema/{name}.json"));
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// What the alternatives of a schema are called.
fn alternatives(schema: &serde_json::Value) -> Vec<String> {
    let of = |one: &serde_json::Value| one["$ref"].as_str().unwrap().trim_start_matches("#/$defs/").to_string();
    sorted(schema["oneOf"].as_array().unwrap().iter().map(of))
}

fn words(list: &serde_json::Value) -> Vec<String> {
    sorted(list.as_array().unwrap().iter().map(|word| word.as_str().unwrap()))
}

#[test]
fn the_tables_name_all_that_there_is_and_nothing_else() {
    assert_eq!(column(&table("docs/embed.md", "### Event lines"), 0), alternatives(&schema("event")));
    assert_eq!(column(&table("docs/embed.md", "### Commands"), 0), alternatives(&schema("command")));

    let mut outcomes = column(&table("docs/run.md", "## Outcomes and exit codes"), 1);
    // one has a row for each of its exit codes
    outcomes.dedup();
    assert_eq!(outcomes, words(&schema("event")["$defs"]["outcome"]["enum"]));

    let mut operations = words(&schema("frame")["$defs"]["operation"]["oneOf"][0]["properties"]["op"]["enum"]);
    operations.push("mcp.call:SERVER/TOOL".into());
    assert_eq!(column(&table("docs/frame.md", "## Operations"), 0), sorted(operations));
}

#[test]
fn the_flags_of_a_hook_are_those_of_its_help_text() {
    let help = run("mh-hook-claude", ["--help"]).stdout;
    let lines = help.lines().filter_map(|line| line.strip_prefix("  --")?.split(' ').next());
    let mut flags = sorted(lines.filter(|name| *name != "table").map(|name| format!("--{name}")));
    flags.dedup();
    let first = |row: &Vec<Vec<String>>| row[0][0].split(' ').next().unwrap().to_string();
    assert_eq!(sorted(table("docs/setup.md", "## The hook by itself").iter().map(first)), flags);
}

#[test]
fn the_options_after_two_dashes_are_those_that_are_passed_on() {
    let rows = table("docs/run.md", "## Options after --");
    for (at, vendor) in [(1, &Claude as &dyn VendorRun), (2, &Codex)] {
        let own = vendor.options();
        let names = own.passed.iter().map(|passed| passed.name).chain(own.short.iter().map(|(short, _)| *short));
        assert_eq!(column(&rows, at), sorted(names));
    }
    let text = fs::read_to_string(Path::new(ROOT).join("docs/run.md")).unwrap();
    let (_, keys) = text.split_once("\n`-c` takes ").unwrap();
    let keys = keys.split(", and no other key").next().unwrap().split('`').skip(1).step_by(2);
    let own = Codex.options().settings.as_ref().unwrap().keys;
    assert_eq!(sorted(keys.map(|key| key.replace('…', ""))), sorted(own.iter().copied()));
}

//! `mh-run` in its ordinary form: one governed turn, on stand-ins that fire the real hooks.

mod end;
mod lines;
mod outcomes;
mod records;
mod start;
mod told;
mod trust;
mod turn;

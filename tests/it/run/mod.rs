//! `mh-run` in its ordinary form: one governed turn, on stand-ins that fire the real hooks.

mod end;
mod lines;
mod start;
mod trust;
mod turn;

//! `mh-setup` as people run it, in homes made for the purpose.

mod claude;
mod codex;
mod doctor;
mod older;
mod refusals;
mod teams;

//! A program that does nothing: the least that a process costs.
fn main() {}

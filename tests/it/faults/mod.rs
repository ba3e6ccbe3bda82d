//! Faults: every fault of stdin, the outputs, the environment, the frame's file, the working folder and the process
//! that a system can produce, tried on both hooks, with the vendor's reaction to it. `cargo test --test it faults:: --
//! --nocapture` prints a table with a row for each fault: the call's fate and the hook's exit code.

mod audit;
mod clock;
mod environment;
mod folder;
mod frame;
mod host;
mod outputs;
mod payload;
mod process;
mod row;
mod seal;
mod stdin;
mod swap;

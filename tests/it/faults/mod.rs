//! Faults: against both hooks, every fault of standard input, the outputs, the environment, the frame's file, the working
//! folder and the process that a system can produce, and what the vendor does then. `cargo test --test it faults:: -- --nocapture`
//! prints the table: a row a fault, what the call comes to, and the hook's exit code.

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

//! Tests of the hooks, the seal and the verifier, by subject.

mod audit;
mod documents;
mod events;
mod faults;
mod keys;
mod launch;
mod limits;
mod mcp;
mod ordinary;
mod patches;
mod payloads;
mod properties;
mod protection;
mod reports;
mod reports_sealed;
mod round;
mod scope;
mod seal;
mod seal_new;
mod setup;
mod text;
mod tools;
mod verify;

//! The program that the tests ask about values and schemas. It belongs to this package, so `cargo test` builds it.

fn main() -> std::io::Result<()> {
    schema_check::serve()
}

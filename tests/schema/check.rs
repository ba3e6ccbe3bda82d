//! The program that the tests ask what is wrong with a value; a program of this package, so that `cargo test` builds it.

fn main() -> std::io::Result<()> {
    schema_check::serve()
}

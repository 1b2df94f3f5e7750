//! The logic behind the workspace commands.
fn main() {}

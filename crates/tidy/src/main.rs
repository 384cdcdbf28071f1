//! Program `cargo run -p tidy -- norms`: prints measurements of the source code and its circular dependencies.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() != Some("norms") {
        eprintln!("usage: cargo run -p tidy -- norms");
        return ExitCode::FAILURE;
    }
    print!("{}", tidy::norms::table());
    for name in tidy::crates() {
        tidy::circles::in_crate(&name).iter().for_each(|circle| println!("{name}: {circle}"));
    }
    ExitCode::SUCCESS
}

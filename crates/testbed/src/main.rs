//! `shallows-testbed run`: a request as JSON from standard input, and what became of it to standard output, a document on each
//! line. `shallows testbed` speaks to it, and people to that.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    use serde_json::{Value, json};
    use shallows_testbed::run::{Failure, Request, run};
    use shallows_testbed::sys::machine;

    machine::die_with_parent();
    // Whoever has started this and no longer listens has no use for the rest.
    let tell = |line: Value| {
        use std::io::Write;
        if writeln!(std::io::stdout(), "{line}").is_err() {
            std::process::exit(1);
        }
    };
    let request: Request = match serde_json::from_reader(std::io::stdin()) {
        Ok(request) => request,
        Err(error) => {
            eprintln!("shallows-testbed: no request: {error}. Use `shallows testbed run SCENARIO.toml`");
            return ExitCode::from(2);
        }
    };
    match run(&request, |progress| tell(json!({"progress": progress}))) {
        Ok(done) => {
            tell(json!({"done": done}));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            tell(match failure {
                Failure::Scenario(message) => json!({"scenario": message}),
                Failure::Machine(message) => json!({"machine": message}),
                Failure::Refused(refusals) => {
                    let each = |refusal: &shallows_testbed::mapping::Refusal| json!({"key": refusal.key, "reason": refusal.reason});
                    json!({"refused": refusals.iter().map(each).collect::<Vec<_>>()})
                }
            });
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("shallows-testbed: the testbed needs Linux");
    std::process::exit(2);
}

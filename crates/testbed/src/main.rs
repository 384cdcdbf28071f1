//! Program of the testbed, started by `shallows testbed`.
//!
//! `shallows-testbed run` reads a request as JSON from standard input and writes progress and results to standard output, one document per
//! line. `shallows-testbed shell REQUEST ANSWER QUEUES` uses files, since a shell has the terminal. Several times per second, the program
//! writes the state of the network to the file `QUEUES`.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use std::fs::File;
    use std::io::Write;
    use std::path::Path;

    use serde_json::json;
    use shallows_testbed::sys::machine;
    use shallows_testbed::{run, shell};

    machine::die_with_parent();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["run"] => {
            // If nobody reads the output any more, the rest of the run is useless.
            let tell = |line| {
                if writeln!(std::io::stdout(), "{line}").is_err() {
                    std::process::exit(1);
                }
            };
            let request = serde_json::from_reader(std::io::stdin()).map_err(|error| error.to_string());
            answer(request, |request| run::run(request, |progress| tell(json!({"progress": progress}))), tell)
        }
        ["shell", from, to, page] => {
            let request = File::open(from).map_err(|error| error.to_string());
            let request =
                request.and_then(|file| serde_json::from_reader(file).map_err(|error| error.to_string()));
            answer(
                request,
                |request| shell::stand(request, Path::new(page)),
                |line| {
                    // The caller reports a missing answer.
                    let _ = File::create(to).and_then(|mut file| writeln!(file, "{line}"));
                },
            )
        }
        _ => answer::<run::Request>(
            Err("the command must be run or shell".to_owned()),
            |_| unreachable!("it is none"),
            |_| {},
        ),
    }
}

/// Message and place of the first panic, which causes the panics of other threads.
#[cfg(target_os = "linux")]
static PANIC: std::sync::OnceLock<String> = std::sync::OnceLock::new();

/// Executes a request, and passes its result or failure to `tell`.
#[cfg(target_os = "linux")]
fn answer<T>(
    request: Result<T, String>,
    act: impl FnOnce(&T) -> Result<serde_json::Value, shallows_testbed::run::Failure>,
    tell: impl FnOnce(serde_json::Value),
) -> std::process::ExitCode {
    use std::panic::{self, AssertUnwindSafe};
    use std::process::ExitCode;

    use serde_json::json;
    use shallows_testbed::mapping::Refusal;
    use shallows_testbed::run::Failure;

    let request = match request {
        Ok(request) => request,
        Err(error) => {
            eprintln!(
                "shallows-testbed: the request cannot be read: {error}; use `shallows testbed run SCENARIO.toml`"
            );
            return ExitCode::from(2);
        }
    };
    panic::set_hook(Box::new(|info| {
        let _ = PANIC.set(info.to_string().replace('\n', " "));
    }));
    match panic::catch_unwind(AssertUnwindSafe(|| act(&request))) {
        Ok(Ok(done)) => {
            tell(json!({"done": done}));
            ExitCode::SUCCESS
        }
        Err(_) => {
            tell(json!({"defect": PANIC.get()}));
            ExitCode::FAILURE
        }
        Ok(Err(failure)) => {
            tell(match failure {
                Failure::Scenario(message) => json!({"scenario": message}),
                Failure::Machine(message) => json!({"machine": message}),
                Failure::Refused(refusals) => {
                    let each = |refusal: &Refusal| json!({"key": refusal.key, "reason": refusal.reason});
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

//! Checks that no scenario causes a panic, neither when it is parsed nor when the methods of the parsed experiment are
//! called.
//!
//! `cargo +nightly fuzz run scenario` runs it, beginning with the scenarios of `crates/scenario/tests` and
//! `experiments`. `cargo test` checks the same property with damaged scenarios (`crates/scenario/tests/robust.rs`).

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // A large network is sound, and too slow to try a thousand times a second.
    let small = !text.contains("0000");
    let nothing = |_: &str| Err("there is none".to_owned());
    match shallows_scenario::parse(text, "fuzz.toml", &nothing, &[], None) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(experiment) if small => {
            experiment.resolved();
            experiment.warnings();
            experiment.workloads();
        }
        Ok(_) => {}
    }
});

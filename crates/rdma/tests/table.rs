//! Compares the tests of the state machines of queue pairs with those listed in evidence/conformance.md.

use std::fs;
use std::path::Path;

/// Files whose tests each have a row.
const FILES: [&str; 10] = [
    "adaptive",
    "go_back_n",
    "goodput",
    "irn",
    "notification",
    "reads",
    "responder",
    "sends",
    "transfers",
    "windows",
];

#[test]
fn every_test_of_a_state_machine_has_a_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../../evidence/conformance.md")).expect("the page is there");
    for file in FILES {
        let path = format!("tests/{file}.rs");
        let text = fs::read_to_string(root.join(&path)).expect("the tests can be read");
        let tests: Vec<_> =
            text.split("#[test]\nfn ").skip(1).filter_map(|rest| rest.split('(').next()).collect();
        assert!(!tests.is_empty(), "{path}");
        for test in tests {
            let row = format!("`crates/rdma/{path}::{test}`");
            assert!(page.contains(&row), "evidence/conformance.md has no row for {row}");
        }
    }
}

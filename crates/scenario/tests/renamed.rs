//! Tests that old keys of scenarios still work, with a note.

use crate::common::{BCC_F2, parse};
use shallows_core::Bytes;

const NOTE: &str =
    "switch.buffer.private is now switch.buffer.reserved; the next version rejects the old key";

fn with_old_key() -> String {
    assert!(BCC_F2.contains("\nreserved = "));
    BCC_F2.replacen("\nreserved = ", "\nprivate = ", 1)
}

#[test]
fn an_old_key_means_the_new_one_and_leaves_a_note() {
    let (old, new) = (parse(&with_old_key(), &[]).unwrap(), parse(BCC_F2, &[]).unwrap());
    assert_eq!(old.resolved(), new.resolved());
    assert_eq!(old.network.links[32].reserved, Bytes(131_072));
    assert!(old.notes.iter().any(|note| note == NOTE), "{:?}", old.notes);
    assert!(!new.notes.iter().any(|note| note == NOTE));
}

#[test]
fn an_old_key_of_an_option_replaces_the_value_of_the_file() {
    for text in [BCC_F2, &with_old_key()] {
        for key in ["switch.buffer.private", "switch.buffer.reserved"] {
            let experiment = parse(text, &[(key, "64KiB")]).unwrap();
            assert_eq!(experiment.network.links[32].reserved, Bytes(65_536), "{key}");
            assert_eq!(
                experiment.notes.contains(&NOTE.to_owned()),
                key.ends_with("private") || text != BCC_F2
            );
        }
    }
}

#[test]
fn a_key_under_both_names_is_an_error_at_its_new_one() {
    let twice = BCC_F2.replacen("\nreserved = ", "\nprivate = \"1KB\"\nreserved = ", 1);
    let error = parse(&twice, &[]).expect_err("it is given twice").to_string();
    let expected = "switch.buffer.reserved: is set twice, also under the old name private; remove private";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_wrong_value_of_an_old_key_is_shown_at_its_place_in_the_file() {
    let old = with_old_key().replacen("private = \"128KiB\"", "private = \"4MiB\"", 1);
    let line = 1 + old.lines().position(|line| line.starts_with("private = ")).expect("it is there");
    let error = parse(&old, &[]).expect_err("it is larger than the pool").to_string();
    assert!(
        error.starts_with(&format!(
            "s.toml:{line}:1: switch.buffer.reserved: must be at most the size of the \
                                        pool"
        )),
        "{error}"
    );
}

//! Keys that are omitted from a resolved scenario while they have their default.

/// Returns whether a value is the default. Keys added later are omitted then, so that resolved scenarios stay the same.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

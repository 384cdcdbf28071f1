//! Keys that a resolved scenario omits if they have their default.

/// Returns whether a value is the default. Keys that were added later are omitted if they have their default, so that resolved scenarios
/// stay the same.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

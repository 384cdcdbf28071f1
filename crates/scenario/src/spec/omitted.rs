//! What a scenario that is spelled out leaves out.

/// What was not there before needs no mention where it is not used.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

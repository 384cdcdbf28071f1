//! Keys that a resolved scenario omits.

/// Whether a value is its type's default. Newer keys are omitted then, so that hashes of older scenarios stay.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

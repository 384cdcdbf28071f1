//! Keys that a resolved scenario omits if they have their default.

/// Returns whether a value is its type's default. Keys added in later versions are omitted from a resolved scenario if they have their
/// default, so that resolved scenarios do not change with the version.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

//! Bringing what will be read soon into the cache, where the program knows long before what that is.

/// Have the processor load the cache line in which `wanted` begins. Nothing waits for it.
///
/// Does nothing but on x86-64.
#[inline(always)]
pub fn prefetch<T>(wanted: &T) {
    hint(std::ptr::from_ref(wanted).cast());
}

/// Have the processor load each cache line of `wanted`.
#[inline(always)]
pub fn prefetch_lines<T>(wanted: &T) {
    prefetch_all(std::slice::from_ref(wanted));
}

/// Have the processor load each cache line of all that are `wanted`.
#[inline]
pub fn prefetch_all<T>(wanted: &[T]) {
    const LINE: usize = 64;
    let start = wanted.as_ptr().cast::<i8>();
    for offset in (0..size_of_val(wanted)).step_by(LINE) {
        hint(start.wrapping_add(offset));
    }
}

#[inline(always)]
#[allow(unsafe_code)]
fn hint(place: *const i8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint. It changes nothing that a program sees, and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place) }
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    let _ = place;
}

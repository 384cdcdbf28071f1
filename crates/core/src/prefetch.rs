//! Hints to the processor to load data into its cache before the program needs it.

/// Prefetches the cache line in which `wanted` begins. Does not wait for the data.
///
/// Does nothing on architectures other than x86-64.
#[inline(always)]
pub fn prefetch<T>(wanted: &T) {
    hint(std::ptr::from_ref(wanted).cast());
}

/// Prefetches each cache line of `wanted`.
#[inline(always)]
pub fn prefetch_lines<T>(wanted: &T) {
    prefetch_all(std::slice::from_ref(wanted));
}

/// Prefetches each cache line of every element of `wanted`.
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
        // SAFETY: a prefetch is a hint. It does not change the program's state and cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place) }
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    let _ = place;
}

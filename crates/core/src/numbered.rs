//! Map from 32-bit or 64-bit words to small values: one array with linear probing, so that a look-up usually reads one cache line.

use crate::prefetch;

/// Map from words to small values. It cannot be iterated over. A word must be less than the maximum of its type.
#[derive(Clone, Debug)]
pub struct Numbered<T, W = u64> {
    /// Slots of the map. The array is empty before the first insertion, and its length is a power of two afterwards.
    entries: Box<[Entry<T, W>]>,
    used: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T, W> {
    word: W,
    value: T,
}

/// Integer type of the words in a map.
pub trait Word: Copy + Eq {
    /// Word that marks a free entry.
    const FREE: Self;

    /// Minimum number of slots per word. With more slots, more words are in their home slot, and the processor predicts where a search ends.
    const SLOTS: usize;

    /// Returns a number whose lowest bits select the first slot to probe.
    fn hash(self) -> usize;
}

/// 64-bit words, which are inserted in any order.
impl Word for u64 {
    const FREE: Self = Self::MAX;
    const SLOTS: usize = 4;

    #[inline(always)]
    fn hash(self) -> usize {
        scatter(self)
    }
}

/// 32-bit words, which are inserted in roughly ascending order: eight consecutive words have consecutive slots, which share a cache line.
impl Word for u32 {
    const FREE: Self = Self::MAX;
    const SLOTS: usize = 2;

    #[inline(always)]
    fn hash(self) -> usize {
        (scatter(u64::from(self / 8)) << 3) | (self as usize % 8)
    }
}

/// Multiplies `word` by an odd number (2⁶⁴ over the golden ratio; Knuth, TAOCP 3, §6.4) and combines both halves of the product.
#[inline(always)]
fn scatter(word: u64) -> usize {
    let product = u128::from(word) * 0x9e37_79b9_7f4a_7c15;
    (product as u64 ^ (product >> 64) as u64) as usize
}

const FEWEST: usize = 8;

impl<T, W> Default for Numbered<T, W> {
    fn default() -> Self {
        Self { entries: Box::default(), used: 0 }
    }
}

impl<T: Copy + Default, W: Word> Numbered<T, W> {
    /// Returns the value of `word`, or `None` if the map does not contain it.
    #[inline]
    pub fn get(&self, word: W) -> Option<T> {
        self.find(word).map(|place| self.entries[place].value)
    }

    /// Sets the value of `word`.
    ///
    /// # Panics
    ///
    /// Panics if the word is the largest of its type.
    pub fn insert(&mut self, word: W, value: T) {
        assert!(word != W::FREE, "the largest word stands for a free entry");
        if let Some(place) = self.find(word) {
            self.entries[place].value = value;
            return;
        }
        if W::SLOTS * (self.used + 1) > self.entries.len() {
            self.grow();
        }
        self.used += 1;
        self.put(Entry { word, value });
    }

    /// Removes `word` and returns its value, or `None` if the map does not contain it.
    pub fn remove(&mut self, word: W) -> Option<T> {
        let mut hole = self.find(word)?;
        let removed = self.entries[hole].value;
        self.used -= 1;
        // Move back each entry that probing placed after its home slot only because the removed entry was in the way (Knuth, TAOCP 3, §6.4,
        // Algorithm R).
        let mut place = self.after(hole);
        while self.entries[place].word != W::FREE {
            if self.distance(self.home(self.entries[place].word), place) >= self.distance(hole, place) {
                self.entries[hole] = self.entries[place];
                hole = place;
            }
            place = self.after(place);
        }
        self.entries[hole].word = W::FREE;
        Some(removed)
    }

    /// Prefetches the entry of `word` into the processor's cache.
    #[inline(always)]
    pub fn prefetch(&self, word: W) {
        if !self.entries.is_empty() {
            prefetch(&self.entries[self.home(word)]);
        }
    }

    #[inline]
    fn find(&self, word: W) -> Option<usize> {
        if self.entries.is_empty() {
            return None;
        }
        let mut place = self.home(word);
        loop {
            match self.entries[place].word {
                found if found == word => return Some(place),
                free if free == W::FREE => return None,
                _ => place = self.after(place),
            }
        }
    }

    /// Returns the home of `word`, the first slot to probe for it.
    #[inline(always)]
    fn home(&self, word: W) -> usize {
        word.hash() & (self.entries.len() - 1)
    }

    #[inline(always)]
    fn after(&self, place: usize) -> usize {
        (place + 1) & (self.entries.len() - 1)
    }

    /// Returns the number of probing steps from slot `from` to slot `to`.
    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.entries.len() - 1)
    }

    /// Adds an entry. The map must not contain its word yet.
    fn put(&mut self, entry: Entry<T, W>) {
        let mut place = self.home(entry.word);
        while self.entries[place].word != W::FREE {
            place = self.after(place);
        }
        self.entries[place] = entry;
    }

    #[cold]
    fn grow(&mut self) {
        let size = FEWEST.max(2 * self.entries.len());
        let free = Entry { word: W::FREE, value: T::default() };
        let entries = std::mem::replace(&mut self.entries, vec![free; size].into());
        entries.iter().filter(|entry| entry.word != W::FREE).for_each(|&entry| self.put(entry));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_holds_what_an_ordered_map_holds(
            steps in prop::collection::vec((0u64..40, any::<u32>(), any::<bool>()), 0..400),
        ) {
            let (mut numbered, mut ordered) = (Numbered::default(), BTreeMap::new());
            let mut short = Numbered::<u32, u32>::default();
            for (word, value, inserts) in steps {
                if inserts {
                    short.insert(word as u32, value);
                } else {
                    short.remove(word as u32);
                }
                prop_assert_eq!(short.get(word as u32), inserts.then_some(value));
                // Some words differ only in their high half, as words made from host numbers do.
                let word = ((word % 5) << 32) | (word / 5);
                numbered.prefetch(word);
                if inserts {
                    numbered.insert(word, value);
                    ordered.insert(word, value);
                } else {
                    prop_assert_eq!(numbered.remove(word), ordered.remove(&word));
                }
                for word in (0..5).flat_map(|high| (0..8).map(move |low| high << 32 | low)) {
                    prop_assert_eq!(numbered.get(word), ordered.get(&word).copied());
                }
            }
        }
    }

    #[test]
    fn three_quarters_of_the_slots_stay_free() {
        let mut numbered = Numbered::default();
        assert_eq!(numbered.get(0), None);
        for word in 0..1_000 {
            numbered.insert(word, ());
            assert!(4 * numbered.used <= numbered.entries.len());
        }
        assert_eq!((numbered.used, numbered.entries.len()), (1_000, 4_096));
        (0..1_000).for_each(|word| assert_eq!(numbered.remove(word), Some(())));
        assert_eq!(numbered.used, 0);
        assert!(numbered.entries.iter().all(|entry| entry.word == u64::FREE));
    }

    #[test]
    #[should_panic(expected = "stands for a free entry")]
    fn the_largest_word_is_refused() {
        Numbered::default().insert(u64::MAX, 0u32);
    }
}

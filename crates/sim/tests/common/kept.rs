//! Files of a run that are kept in memory.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard};

use shallows_sim::Sink;

/// Content of a written file, for reading it back.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

/// Files by name, in the order in which they were opened.
#[derive(Default)]
pub(crate) struct Files(Vec<(String, Kept)>);

impl Files {
    pub(crate) fn open(&mut self, name: &str) -> io::Result<Sink> {
        let kept = Kept::default();
        self.0.push((name.to_owned(), kept.clone()));
        Ok(Box::new(kept))
    }

    /// Returns names and contents of all files.
    pub(crate) fn contents(&self) -> Vec<(String, Vec<u8>)> {
        self.0.iter().map(|(name, kept)| (name.clone(), kept.bytes().clone())).collect()
    }
}

impl Kept {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().expect("nobody panics while writing")
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! The files that scenarios name.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// A list of flows of the largest runs fits; a device or a disk image does not.
const MAX_INPUT: u64 = 1 << 30;

/// The text of a regular file, or why there is none.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    let place = |error: io::Error| format!("{} ({})", error, path.display());
    // Before it is opened: a pipe waits for whoever writes to it.
    if !fs::metadata(path).map_err(place)?.is_file() {
        let message = "is a folder, pipe, socket or device; name a file";
        return Err(format!("{} {message}", path.display()));
    }
    let mut text = String::new();
    // Some files of the kernel say that they are empty and never end.
    let file = File::open(path).map_err(place)?;
    file.take(MAX_INPUT + 1).read_to_string(&mut text).map_err(place)?;
    if text.len() as u64 > MAX_INPUT {
        return Err("it is larger than 1 GiB".to_owned());
    }
    Ok(text)
}

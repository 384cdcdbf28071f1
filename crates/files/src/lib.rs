//! The files that scenarios name, for every program that reads scenarios: regular ones, up to a size.
#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// A list of flows of the largest runs fits; a device or a disk image does not.
const MAX_INPUT: u64 = 1 << 30;

/// The text of a regular file in UTF-8.
///
/// # Errors
///
/// Why there is none: it cannot be read, is no regular file, no text, or larger than 1 GiB.
pub fn read_text(path: &Path) -> Result<String, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_not_read() {
        // A device is no file, and neither is a folder.
        for place in ["/dev/zero", "/"] {
            let error = read_text(Path::new(place)).unwrap_err();
            assert_eq!(error, format!("{place} is a folder, pipe, socket or device; name a file"));
        }
        assert!(read_text(Path::new("/nowhere")).unwrap_err().ends_with("(/nowhere)"));
    }
}

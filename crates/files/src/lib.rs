//! Reads the files that scenarios name. They must be regular files of at most 1 GiB. Every program that reads scenarios uses this crate.
#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Maximum size of a file. The limit allows the flow lists of the largest runs, but no device or disk image.
const MAX_INPUT: u64 = 1 << 30;

/// Returns the text of a regular file, which must be UTF-8.
///
/// # Errors
///
/// Returns the reason if the file cannot be read, is not a regular file, is not UTF-8 or is larger than 1 GiB.
pub fn read_text(path: &Path) -> Result<String, String> {
    read_up_to(path, MAX_INPUT)?.ok_or_else(|| "the file is larger than 1 GiB".to_owned())
}

/// Returns the text of a regular file, or `None` if it has more than `most` bytes.
fn read_up_to(path: &Path, most: u64) -> Result<Option<String>, String> {
    let place = |error: io::Error| format!("{} ({})", error, path.display());
    // Check the kind of the file before opening it, because opening a pipe blocks until another process writes to it.
    let found = fs::metadata(path).map_err(place)?;
    if !found.is_file() {
        let message = "must be a regular file, not a folder, pipe, socket or device";
        return Err(format!("{} {message}", path.display()));
    }
    let mut text = String::new();
    // Some files of the kernel have size zero, and reading them can block for ever (`/proc/kmsg`).
    if found.len() == 0 {
        return Ok(Some(text));
    }
    let file = File::open(path).map_err(place)?;
    file.take(most + 1).read_to_string(&mut text).map_err(place)?;
    Ok((text.len() as u64 <= most).then_some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_not_read() {
        // Devices and folders are not regular files.
        for place in ["/dev/zero", "/"] {
            let error = read_text(Path::new(place)).unwrap_err();
            assert_eq!(
                error,
                format!("{place} must be a regular file, not a folder, pipe, socket or device")
            );
        }
        // The kernel's log: a read waits until there is a new message.
        if cfg!(target_os = "linux") {
            assert_eq!(read_text(Path::new("/proc/kmsg")).unwrap(), "");
        }
        assert!(read_text(Path::new("/nowhere")).unwrap_err().ends_with("(/nowhere)"));
    }

    #[test]
    fn a_file_is_read_up_to_its_bound_and_not_beyond() {
        let path = std::env::temp_dir().join(format!("shallows-files-{}", std::process::id()));
        fs::write(&path, "12345").expect("a temporary file");
        let read = [4, 5, 6].map(|most| read_up_to(&path, most));
        let all = Some("12345".to_owned());
        assert_eq!(read, [Ok(None), Ok(all.clone()), Ok(all.clone())]);
        assert_eq!(read_text(&path).ok(), all);
        fs::remove_file(&path).expect("nobody else removes it");
    }
}

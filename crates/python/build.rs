//! Build script: passes two values to the compiler: a hash of the engine's sources, and their commit.
//!
//! The hash is part of every run folder's name, so that results of different engines are never confused. It covers the contents of all Rust
//! sources, data files and manifests, and the lock file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
    collect(&root.join("crates"), &mut files);
    files.sort();
    let mut hash = Sha256::new();
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root).unwrap_or(file).to_string_lossy().into_owned();
        let contents = fs::read(file).unwrap_or_default();
        // Lengths separate names from contents, so that no two sets of files have the same hash input.
        for part in [name.as_bytes(), &contents] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rerun-if-changed={}", root.join("crates").display());
    for name in ["HEAD", "logs/HEAD"].map(|name| root.join(".git").join(name)) {
        if name.exists() {
            println!("cargo::rerun-if-changed={}", name.display());
        }
    }
    let commit = git(&root, &["rev-parse", "HEAD"]);
    let changes = git(&root, &["status", "--porcelain", "--", "crates", "Cargo.toml", "Cargo.lock"]);
    let dirty = changes.is_some_and(|changes| !changes.is_empty());
    println!("cargo::rustc-env=SHALLOWS_SOURCE_HASH={hash}");
    println!("cargo::rustc-env=SHALLOWS_COMMIT={}", commit.unwrap_or_default());
    println!("cargo::rustc-env=SHALLOWS_DIRTY={dirty}");
    println!("cargo::rustc-env=SHALLOWS_PROFILE={}", std::env::var("PROFILE").unwrap_or_default());
}

/// Collects the sources of the crates: `src`, `data`, manifests and build scripts. Excludes tests and `tidy`, which do not affect results.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            if !["target", "tests", "benches", "examples", "tidy"].iter().any(|skipped| name == *skipped) {
                collect(&path, files);
            }
        } else if ["rs", "toml", "cdf"]
            .iter()
            .any(|kind| path.extension().is_some_and(|found| found == *kind))
        {
            files.push(path);
        }
    }
}

/// Returns the output of git, or `None` if git or the repository is missing, as in a source archive.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

//! Runs the user's command, which can refer to hosts by name. No file or process remains afterwards.
//!
//! The names are bash functions in the environment, and the networks are descriptors that all programs of the command inherit, so that no
//! file needs to be removed. All programs run in one process namespace, so that they end together.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::checked;
use super::namespace::Namespace;

/// File in memory with a text that other programs can read while it is being replaced.
#[derive(Debug)]
pub struct Page(File);

impl Page {
    /// Opens the page at this path.
    ///
    /// # Errors
    ///
    /// If there is no such file.
    pub fn open(path: &Path) -> io::Result<Self> {
        File::options().write(true).open(path).map(Self)
    }

    /// Replaces the text. The first byte is blank until the whole text is written. A reader therefore reads the first line again at the
    /// end: if it is unchanged, the text is complete.
    pub fn write(&self, text: &str) {
        let (first, rest) = text.as_bytes().split_at(1);
        // The file already has memory for a page of text; if a write fails, the old text remains.
        let _ = self
            .0
            .write_all_at(b" ", 0)
            .and_then(|()| self.0.write_all_at(rest, 1))
            .and_then(|()| self.0.set_len(text.len() as u64))
            .and_then(|()| self.0.write_all_at(first, 0));
    }
}

/// First descriptor that the command inherits, above those that shells and their scripts use.
const FIRST: RawFd = 300;

/// Time between two checks of whether the command has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a command, or a shell if the command is empty. Waits for its end and returns the exit code.
///
/// # Errors
///
/// If bash or the programs of util-linux are missing, or the process lacks the necessary rights. If `may_go_on` fails, ends the command and
/// returns that error.
pub fn run(
    command: &[String],
    networks: &[Namespace],
    page: &Page,
    may_go_on: &dyn Fn() -> io::Result<()>,
) -> io::Result<i32> {
    let inherited: Vec<RawFd> =
        std::iter::once(page.0.as_raw_fd()).chain(networks.iter().map(Namespace::as_raw_fd)).collect();
    // If this process is killed, so is `unshare`, and with it the first process of the namespace, which ends all others.
    let mut child = Command::new("unshare");
    child.args(["--pid", "--fork", "--mount-proc", "--kill-child", "--", "bash"]);
    if !command.is_empty() {
        child.args(["-c", "\"$@\"", "bash"]).args(command);
    }
    child.env("BASH_FUNC_queues%%", format!("() {{ cat /proc/self/fd/{FIRST}\n}}"));
    child.env(
        "BASH_FUNC_live%%",
        format!("() {{ while clear; cat /proc/self/fd/{FIRST}; do sleep 0.5; done\n}}"),
    );
    for (host, number) in (0..networks.len()).zip(FIRST + 1..) {
        let enter = format!("() {{ nsenter --net=/proc/self/fd/{number} -- \"$@\"\n}}");
        child.env(format!("BASH_FUNC_h{host}%%"), enter);
    }
    // SAFETY: only system calls are made between fork and exec.
    unsafe {
        child.pre_exec(move || {
            checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            for (fd, number) in inherited.iter().zip(FIRST..) {
                // `dup2` does not copy the flag that closes a descriptor on exec.
                checked(libc::dup2(*fd, number))?;
            }
            Ok(())
        });
    }
    let mut running = child.spawn()?;
    loop {
        if let Some(status) = running.try_wait()? {
            return Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
        }
        if let Err(error) = may_go_on() {
            running.kill()?;
            running.wait()?;
            return Err(error);
        }
        thread::sleep(LOOK);
    }
}

//! A command of the user's, with names for hosts, in a place from which nothing is left.
//!
//! The names are functions of bash, which the environment carries, and the networks are descriptors that all its programs
//! inherit, so that no file is needed that somebody would have to remove. A namespace of processes ends them together.

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

/// A text in memory that programs read, and that is replaced now and then.
#[derive(Debug)]
pub struct Page(File);

impl Page {
    /// The one at this path.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn open(path: &Path) -> io::Result<Self> {
        File::options().write(true).open(path).map(Self)
    }

    /// Replace what it says. Its first byte is blank until all of it is there, so that who reads the first line before and after the rest
    /// knows whether he has read half of something.
    pub fn write(&self, text: &str) {
        let (first, rest) = text.as_bytes().split_at(1);
        // Memory for a page of text was there before; without it the old one stays.
        let _ = self
            .0
            .write_all_at(b" ", 0)
            .and_then(|()| self.0.write_all_at(rest, 1))
            .and_then(|()| self.0.set_len(text.len() as u64))
            .and_then(|()| self.0.write_all_at(first, 0));
    }
}

/// Where the command finds what it inherits: beyond what shells and their scripts take.
const FIRST: RawFd = 300;

/// Between two looks at whether the command has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Run a command, or a shell if it is empty, and wait for it. Returns its exit code.
///
/// # Errors
///
/// If bash or the programs of util-linux are not there, or this process may not; what `may_go_on` returns, which ends the command.
pub fn run(
    command: &[String],
    networks: &[Namespace],
    page: &Page,
    may_go_on: &dyn Fn() -> io::Result<()>,
) -> io::Result<i32> {
    let inherited: Vec<RawFd> =
        std::iter::once(page.0.as_raw_fd()).chain(networks.iter().map(Namespace::as_raw_fd)).collect();
    // What kills this process kills `unshare`, and what kills that ends all processes of the namespace with its first one.
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
    // SAFETY: between fork and exec these are system calls, and nothing else.
    unsafe {
        child.pre_exec(move || {
            checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            for (fd, number) in inherited.iter().zip(FIRST..) {
                // A copy has no flag that closes it.
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

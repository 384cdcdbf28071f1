//! Assignment of a host's source ports: each new socket is bound to the next free port.

use std::io;

use shallows_scenario::FIRST_PORT;

use crate::sys::tcp::{Address, Socket};

/// Port numbers of one host, from [`FIRST_PORT`] to the last.
#[derive(Clone, Debug)]
pub(crate) struct SourcePorts {
    next: u16,
}

impl Default for SourcePorts {
    fn default() -> Self {
        Self { next: FIRST_PORT }
    }
}

impl SourcePorts {
    /// Starts to connect a socket to the address `to`, from the next free port of the address `from`; `new` creates sockets. Returns the
    /// socket and its port.
    ///
    /// # Errors
    ///
    /// If all port numbers are in use for that address, or a socket cannot be created.
    pub(crate) fn connect(
        &mut self,
        from: [u8; 4],
        to: Address,
        new: impl Fn() -> io::Result<Socket>,
    ) -> io::Result<(Socket, u16)> {
        let connected = self.first_free(|port| {
            let socket = new()?;
            socket.bind((from, port)).and_then(|()| socket.connect(to)).map(|()| socket)
        })?;
        connected.ok_or_else(|| {
            let count = usize::from(u16::MAX - FIRST_PORT) + 1;
            let ([a, b, c, d], [e, f, g, h], port) = (from, to.0, to.1);
            io::Error::other(format!(
                "all {count} port numbers of host {a}.{b}.{c}.{d} are in use for connections to port {port} of \
                 {e}.{f}.{g}.{h}; open fewer connections between these hosts: use a smaller per_pair, or when_busy = \
                 \"queue\""
            ))
        })
    }

    /// Calls `attempt` with one port number after another until a number is not in use. Returns the result and the number; `None` if all
    /// numbers are in use.
    fn first_free<T>(&mut self, attempt: impl Fn(u16) -> io::Result<T>) -> io::Result<Option<(T, u16)>> {
        for _ in FIRST_PORT..=u16::MAX {
            let port = self.next;
            self.next = port.checked_add(1).unwrap_or(FIRST_PORT);
            match attempt(port) {
                // bind(2): another socket has exclusive use of the port. connect(2): another connection has the same two addresses.
                Err(error) if is_taken(&error) => {}
                other => return other.map(|made| Some((made, port))),
            }
        }
        Ok(None)
    }
}

fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_next_free_port_number_is_taken_and_after_the_last_comes_the_first() {
        let mut ports = SourcePorts { next: u16::MAX - 1 };
        // 65534 is in use, and 1024 is an end of a connection between the same addresses.
        let attempt = |port| match port {
            65_534 => Err(io::ErrorKind::AddrInUse.into()),
            FIRST_PORT => Err(io::ErrorKind::AddrNotAvailable.into()),
            _ => Ok(()),
        };
        let taken: Vec<u16> =
            (0..3).map(|_| ports.first_free(attempt).expect("sockets").expect("a free port").1).collect();
        assert_eq!(taken, [65_535, 1_025, 1_026]);
    }

    #[test]
    fn the_search_ends_after_each_port_number_was_tried_once() {
        let tried = Cell::new(0);
        let taken = SourcePorts::default().first_free(|_| {
            tried.set(tried.get() + 1);
            Err::<(), _>(io::ErrorKind::AddrInUse.into())
        });
        // Ports 1024 to 65535.
        assert_eq!((taken.expect("no other error"), tried.get()), (None, 64_512));
    }

    #[test]
    fn another_error_is_not_mistaken_for_a_port_that_is_taken() {
        let error =
            SourcePorts::default().first_free(|_| Err::<(), _>(io::ErrorKind::PermissionDenied.into()));
        assert_eq!(error.expect_err("it is refused").kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_port_that_connects_to_the_same_address_already_is_passed_over() -> io::Result<()> {
        let here = [127, 0, 0, 1];
        let service = TcpListener::bind("127.0.0.1:0")?;
        let to = (here, service.local_addr()?.port());
        let new = || Socket::new("reno");
        let (_first, port) = SourcePorts::default().connect(here, to, new)?;
        // Linux binds a second socket to the port, since both have SO_REUSEADDR, but does not connect it.
        let (_second, other) = SourcePorts { next: port }.connect(here, to, new)?;
        assert!(other > port, "{other} after {port}");
        Ok(())
    }
}

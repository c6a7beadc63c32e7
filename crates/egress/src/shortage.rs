//! Shortages of this node while it connects: file handles, local ports, memory. The target is not at fault,
//! so its health must not be affected.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
};

use rustix::io::Errno;

/// Whether an error means that this process or machine lacks a resource. `EADDRNOTAVAIL` is not among them:
/// see [`lacks_ports`].
pub fn is_shortage(error: &io::Error) -> bool {
    let lacking = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|errno| lacking.contains(&errno))
}

/// Whether the machine has no local port left for a connection to that address.
///
/// The same error occurs if the machine has no address of its own in that family, for instance with IPv6 off;
/// waiting does not help then. In that case a datagram socket, which uses other ports, cannot be connected
/// there either. Nothing is sent.
pub(crate) fn lacks_ports(error: &io::Error, to: SocketAddr) -> bool {
    if Errno::from_io_error(error) != Some(Errno::ADDRNOTAVAIL) {
        return false;
    }
    let from: SocketAddr = match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    UdpSocket::bind(from).and_then(|socket| socket.connect(to)).is_ok()
}

/// Whether no socket can be created now. For libraries whose errors do not show it.
pub fn lacks_sockets() -> bool {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).is_err_and(|error| is_shortage(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn os(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.raw_os_error())
    }

    // faults.md 10
    #[test]
    fn what_is_lacking_here_is_distinguished_from_what_targets_do() {
        for internal_failure in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
            assert!(is_shortage(&os(internal_failure)), "{internal_failure:?}");
        }
        for theirs in [
            Errno::CONNREFUSED,
            Errno::CONNRESET,
            Errno::HOSTUNREACH,
            Errno::NETUNREACH,
            Errno::TIMEDOUT,
            Errno::ADDRNOTAVAIL,
        ] {
            assert!(!is_shortage(&os(theirs)), "{theirs:?}");
        }
        assert!(!is_shortage(&io::Error::other("no number")));
    }

    #[test]
    fn no_port_is_left_or_no_address_is_there() {
        let here = (Ipv4Addr::LOCALHOST, 9).into();
        assert!(lacks_ports(&os(Errno::ADDRNOTAVAIL), here));
        assert!(!lacks_ports(&os(Errno::CONNREFUSED), here));
        // A zone that no interface has, so there is no local address to connect from.
        let nowhere = "[fe80::1%4096]:9".parse().unwrap();
        assert!(!lacks_ports(&os(Errno::ADDRNOTAVAIL), nowhere));
    }
}

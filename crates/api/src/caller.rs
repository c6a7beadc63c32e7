//! The unauthenticated caller of a request.

use std::sync::Arc;

use http::HeaderMap;

use crate::{
    client_address::{ClientAddress, is_forwarded},
    listener::{ConnectionState, Peer},
};

/// What the connection says about the caller, before authentication.
#[derive(Clone)]
pub struct Caller {
    pub address: ClientAddress,
    /// On this machine, and not a proxy for someone else.
    pub is_local: bool,
    pub connection: Arc<ConnectionState>,
}

impl Caller {
    pub fn new(peer: &Peer, headers: &HeaderMap) -> Self {
        let ip = peer.address.ip();
        Self {
            address: peer.trusted_proxies.client(ip, headers),
            is_local: ip.to_canonical().is_loopback() && !is_forwarded(headers),
            connection: peer.connection.clone(),
        }
    }
}

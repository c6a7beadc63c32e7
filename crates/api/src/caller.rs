//! The caller of a request, as far as it is known before authentication.

use std::sync::Arc;

use gancho_access::Principal;
use http::HeaderMap;

use crate::{
    client_address::{ClientAddress, is_forwarded},
    listener::{ConnectionState, Peer},
};

/// What the connection says about the caller, before authentication.
#[derive(Clone)]
pub struct Caller {
    pub address: ClientAddress,
    /// Whether it is on this machine, and not a proxy for someone else.
    pub is_local: bool,
    pub connection: Arc<ConnectionState>,
}

/// The principal of a call from this process. Extensions of a request never come from the network.
#[derive(Clone)]
pub(crate) struct InProcessCaller(pub Principal);

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

//! The 32 bytes that encode the position of a list's next page.

use uuid::Uuid;

/// An event and one of its deliveries.
pub(super) type NamedPlace = (Uuid, Uuid);

/// Encodes the position after an id, for lists in the order of ids.
pub(crate) fn write_place(last: Uuid) -> [u8; 32] {
    let mut place = [0; 32];
    place[..16].copy_from_slice(last.as_bytes());
    place
}

pub(crate) fn read_place(place: &[u8; 32]) -> Uuid {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&place[..16]);
    Uuid::from_bytes(bytes)
}

pub(super) fn write_named_place((event, delivery): NamedPlace) -> [u8; 32] {
    let mut place = write_place(delivery);
    place[16..].copy_from_slice(event.as_bytes());
    place
}

pub(super) fn read_named_place(place: &[u8; 32]) -> NamedPlace {
    let mut event = [0; 16];
    event.copy_from_slice(&place[16..]);
    (Uuid::from_bytes(event), read_place(place))
}

//! JSON pointers (RFC 6901).

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer(Vec<Box<[u8]>>);

impl Pointer {
    /// Parses a pointer with at least one part: `""` is the whole body, which is no id.
    pub fn parse(text: &str) -> Option<Self> {
        let parts = text.strip_prefix('/')?.split('/').map(part);
        parts.collect::<Option<_>>().map(Self)
    }

    pub(super) fn parts(&self) -> &[Box<[u8]>] {
        &self.0
    }
}

/// Unescapes one part: `~0` is `~`, and `~1` is `/`.
fn part(text: &str) -> Option<Box<[u8]>> {
    let mut pieces = text.split('~');
    let first = pieces.next()?.to_owned();
    let whole = pieces.try_fold(first, |done, piece| match piece.as_bytes().first()? {
        b'0' => Some(done + "~" + &piece[1..]),
        b'1' => Some(done + "/" + &piece[1..]),
        _ => None,
    })?;
    Some(whole.into_bytes().into())
}

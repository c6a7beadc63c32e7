//! The stream of a connection, with its deadlines.
//!
//! Deadlines are enforced below the protocol, so that they hold from the first byte and for every protocol.
//! They cost nothing while bytes flow: the timer is only checked when there is nothing to read or no room to
//! write.

use std::{
    future::Future,
    io,
    mem::MaybeUninit,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep},
};

use super::{
    ConnectionState, ListenSettings,
    connections::{ConnectionSlot, ConnectionTable},
    framing::{Framing, RequestPart},
};

pub struct GuardedStream {
    stream: TcpStream,
    framing: Framing,
    head_deadline: Duration,
    idle_deadline: Duration,
    /// When the current head began to arrive.
    head_since: Option<Instant>,
    /// When bytes last moved, in either direction.
    moved_at: Instant,
    timer: Pin<Box<Sleep>>,
    /// Whether [`INVALID_HEAD`] was passed on.
    is_invalid_head_sent: bool,
    connection: Arc<ConnectionState>,
    table: Arc<ConnectionTable>,
    /// Bytes of the incomplete head.
    head_bytes: usize,
    lingering: Option<LingeringClose>,
}

/// The response is sent while the request is still arriving. Closing a connection with unread bytes resets
/// it, and the peer may never see the response. So the bytes are read and dropped for a while.
struct LingeringClose {
    since: Instant,
    is_shut: bool,
}

/// Maximum time to linger.
const LINGER: Duration = Duration::from_secs(5);
/// Maximum time to linger without a byte.
const LINGER_IDLE: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 16 * 1024;

/// Follows the zeros that [`Framing`] wrote: the end of a head, so that the HTTP library parses it and
/// answers 400.
const INVALID_HEAD: &[u8] = b"\0\r\n\r\n";

impl GuardedStream {
    pub fn new(stream: TcpStream, settings: &ListenSettings, slot: &ConnectionSlot) -> Self {
        let now = Instant::now();
        let ListenSettings { head_deadline, idle_deadline, .. } = *settings;
        Self {
            stream,
            framing: Framing::new(),
            head_deadline,
            idle_deadline,
            // A new connection must send a head.
            head_since: Some(now),
            moved_at: now,
            timer: Box::pin(tokio::time::sleep_until(now + head_deadline)),
            is_invalid_head_sent: false,
            connection: slot.connection.clone(),
            table: slot.table.clone(),
            head_bytes: 0,
            lingering: None,
        }
    }

    /// Counts the memory of a head that did not arrive at once.
    fn count_head(&mut self, part: RequestPart, count: usize) {
        let bytes = if part == RequestPart::Head { self.head_bytes + count } else { 0 };
        if bytes != self.head_bytes {
            self.head_bytes = bytes;
            self.table.count_head(&self.connection, bytes);
        }
    }

    fn deadline(&self) -> Instant {
        let idle = self.moved_at + self.idle_deadline;
        self.head_since.map_or(idle, |since| idle.min(since + self.head_deadline))
    }

    /// Checks the deadline when nothing else can be done. The timer is reset when it fires, not at every
    /// byte.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        loop {
            let deadline = self.deadline();
            // Only a deadline before the timer's cannot wait for it to fire.
            if deadline < self.timer.deadline() {
                self.timer.as_mut().reset(deadline);
            }
            ready!(self.timer.as_mut().poll(context));
            if deadline <= Instant::now() {
                return Poll::Ready(io::ErrorKind::TimedOut.into());
            }
            self.timer.as_mut().reset(deadline);
        }
    }
}

impl AsyncRead for GuardedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.framing.is_rejected() {
            return this.end(context, buffer);
        }
        let before = buffer.filled().len();
        match Pin::new(&mut this.stream).poll_read(context, buffer) {
            Poll::Ready(Ok(())) => {
                let fresh = &mut buffer.filled_mut()[before..];
                if !fresh.is_empty() {
                    let now = Instant::now();
                    this.moved_at = now;
                    let (count, part) = (fresh.len(), this.framing.read(fresh));
                    this.head_since = match part {
                        RequestPart::Head => this.head_since.or(Some(now)),
                        RequestPart::Between | RequestPart::Body => None,
                    };
                    this.count_head(part, count);
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => this.poll_deadline(context).map(Err),
        }
    }
}

impl GuardedStream {
    /// Ends a connection with ambiguous framing.
    fn end(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.is_invalid_head_sent || buffer.remaining() < INVALID_HEAD.len() {
            return self.poll_deadline(context).map(Err);
        }
        self.is_invalid_head_sent = true;
        buffer.put_slice(INVALID_HEAD);
        Poll::Ready(Ok(()))
    }

    /// Closes this side, and reads until the peer closes its side or takes too long.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let now = Instant::now();
        let lingering = self.lingering.get_or_insert(LingeringClose { since: now, is_shut: false });
        if !lingering.is_shut {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            lingering.is_shut = true;
            self.moved_at = now;
        }
        let end = lingering.since + LINGER;
        let mut bytes = [MaybeUninit::uninit(); LINGER_BYTES];
        loop {
            let mut buffer = ReadBuf::uninit(&mut bytes);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(())) => self.moved_at = Instant::now(),
                Poll::Ready(Err(_)) => return Poll::Ready(Ok(())),
                Poll::Pending => {
                    self.timer.as_mut().reset(end.min(self.moved_at + LINGER_IDLE));
                    ready!(self.timer.as_mut().poll(context));
                    return Poll::Ready(Ok(()));
                }
            }
            if self.moved_at >= end {
                return Poll::Ready(Ok(()));
            }
        }
    }

    fn moved(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(count)) => {
                self.moved_at = Instant::now();
                self.connection.touch();
                Poll::Ready(Ok(count))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            // The peer does not read.
            Poll::Pending => self.poll_deadline(context).map(Err),
        }
    }
}

impl AsyncWrite for GuardedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.moved(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.moved(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingering.is_none() && !self.framing.is_in_body() {
            return Pin::new(&mut self.stream).poll_shutdown(context);
        }
        self.poll_linger(context)
    }
}

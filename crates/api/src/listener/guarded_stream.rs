//! A connection's stream, with its deadlines.
//!
//! They are kept here, under the protocol, so that they hold from the first moment on, for every
//! protocol, and cost nothing while bytes flow: the one timer is only looked at when there is nothing
//! to read or no room to write.

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
    framing::{Framing, Part},
};

pub struct GuardedStream {
    stream: TcpStream,
    framing: Framing,
    head_deadline: Duration,
    idle_deadline: Duration,
    /// Since when the head that is coming in has been coming.
    head_since: Option<Instant>,
    /// When bytes last moved, either way.
    moved_at: Instant,
    timer: Pin<Box<Sleep>>,
    /// What could be read in two ways was ended, see [`ENDING`].
    is_invalid_head_sent: bool,
    connection: Arc<ConnectionState>,
    lingering: Option<Lingering>,
}

/// The answer is out and the rest of the request is still coming. A connection that is closed while
/// bytes come in is reset, and then the peer may never see the answer: so they are read and dropped for
/// a while.
struct Lingering {
    since: Instant,
    is_shut: bool,
}

/// For so long in all,
const LINGER: Duration = Duration::from_secs(5);
/// and so long without a byte.
const LINGER_IDLE: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 16 * 1024;

/// What follows the zeros that [`Framing`] left: the end of a head, so that whoever reads it looks at
/// it, and finds that it is none.
const INVALID_HEAD: &[u8] = b"\0\r\n\r\n";

impl GuardedStream {
    pub fn new(
        stream: TcpStream,
        settings: &ListenSettings,
        connection: Arc<ConnectionState>,
    ) -> Self {
        let now = Instant::now();
        let ListenSettings { head_deadline, idle_deadline, .. } = *settings;
        Self {
            stream,
            framing: Framing::new(),
            head_deadline,
            idle_deadline,
            // Whoever connects has something to say.
            head_since: Some(now),
            moved_at: now,
            timer: Box::pin(tokio::time::sleep_until(now + head_deadline)),
            is_invalid_head_sent: false,
            connection,
            lingering: None,
        }
    }

    fn deadline(&self) -> Instant {
        let idle = self.moved_at + self.idle_deadline;
        self.head_since.map_or(idle, |since| idle.min(since + self.head_deadline))
    }

    /// Nothing can be done now: is it too late? The timer may have been set before bytes moved; then
    /// it is set anew when it fires, not at every byte.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        loop {
            let deadline = self.deadline();
            // A nearer deadline than the timer's is the only one that cannot wait for it to fire.
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
                    this.head_since = match this.framing.read(fresh) {
                        Part::Head => this.head_since.or(Some(now)),
                        Part::Between | Part::Body | Part::Other => None,
                    };
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => this.poll_deadline(context).map(Err),
        }
    }
}

impl GuardedStream {
    /// Nothing more is read from who sends what could be read in two ways.
    fn end(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.is_invalid_head_sent || buffer.remaining() < INVALID_HEAD.len() {
            return self.poll_deadline(context).map(Err);
        }
        self.is_invalid_head_sent = true;
        buffer.put_slice(INVALID_HEAD);
        Poll::Ready(Ok(()))
    }

    /// Closes our side, and reads what still comes until the peer has closed its own or takes too long.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let now = Instant::now();
        let lingering = self.lingering.get_or_insert(Lingering { since: now, is_shut: false });
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

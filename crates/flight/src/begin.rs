//! How a connection begins: its first bytes are read, and given back, by which it is known what its client speaks.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What HTTP/2 begins with.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speech {
    Http2,
    /// An older form, or something else: its own reader says.
    Other,
}

/// A stream whose first bytes were read already.
pub(crate) struct Begun<S> {
    first: Bytes,
    stream: S,
}

/// Reads so much of a stream that it is known what is spoken; None if it ended before.
pub(crate) async fn begun<S: AsyncRead + Unpin>(mut stream: S) -> io::Result<Option<(Speech, Begun<S>)>> {
    let mut bytes = [0; PREFACE.len()];
    let mut filled = 0;
    let speech = loop {
        let mut room = ReadBuf::new(&mut bytes[filled..]);
        poll_fn(|context| Pin::new(&mut stream).poll_read(context, &mut room)).await?;
        let read = room.filled().len();
        if read == 0 {
            return Ok(None);
        }
        filled += read;
        if !PREFACE.starts_with(&bytes[..filled]) {
            break Speech::Other;
        }
        if filled == PREFACE.len() {
            break Speech::Http2;
        }
    };
    Ok(Some((speech, Begun { first: Bytes::copy_from_slice(&bytes[..filled]), stream })))
}

impl<S: AsyncRead + Unpin> AsyncRead for Begun<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.first.is_empty() {
            return Pin::new(&mut this.stream).poll_read(context, room);
        }
        let count = this.first.len().min(room.remaining());
        room.put_slice(&this.first[..count]);
        this.first.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Begun<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.get_mut().stream).poll_shutdown(context))?;
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that gives its bytes in pieces of this size.
    struct Pieces(Bytes, usize);

    impl AsyncRead for Pieces {
        fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            let this = self.get_mut();
            let count = this.1.min(this.0.len()).min(room.remaining());
            room.put_slice(&this.0.split_to(count));
            Poll::Ready(Ok(()))
        }
    }

    fn now<T>(future: impl Future<Output = T>) -> T {
        let mut context = Context::from_waker(std::task::Waker::noop());
        match std::pin::pin!(future).poll(&mut context) {
            Poll::Ready(given) => given,
            Poll::Pending => panic!("nothing waits here"),
        }
    }

    #[test]
    fn what_is_spoken_is_known_by_the_first_bytes_and_none_is_lost() {
        let second = [PREFACE.as_slice(), b"more of it"].concat();
        let cases: [(&[u8], Option<Speech>); 5] = [
            (&second, Some(Speech::Http2)),
            (b"POST / HTTP/1.1\r\n\r\n", Some(Speech::Other)),
            (b"PRI * HTTP/3.0\r\n", Some(Speech::Other)),
            (b"PRI * HTTP/2.0", None),
            (b"", None),
        ];
        for (bytes, speech) in cases {
            for size in [1, 3, 24, 100] {
                let stream = Pieces(Bytes::copy_from_slice(bytes), size);
                let found = now(begun(stream)).expect("nothing fails");
                assert_eq!(found.as_ref().map(|found| found.0), speech);
                let Some((_, mut again)) = found else { continue };
                let mut all = Vec::new();
                loop {
                    let mut space = [0; 7];
                    let mut room = ReadBuf::new(&mut space);
                    now(poll_fn(|context| Pin::new(&mut again).poll_read(context, &mut room))).expect("nothing fails");
                    if room.filled().is_empty() {
                        break;
                    }
                    all.extend_from_slice(room.filled());
                }
                assert_eq!(all, bytes);
            }
        }
    }
}

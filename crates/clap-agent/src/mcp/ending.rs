//! When the server ends: its client closes stdin, or a signal comes.
//!
//! Either way the calls that run are ended first. A client that is gone reads no answer, and a
//! process that goes on changing things on behalf of nobody is the worst of all ends.

use std::io::Read;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{mpsc, watch};

use crate::exit::Exit;
use crate::sys;

/// Tells every call to end.
#[derive(Clone)]
pub(super) struct Stop {
    sender: watch::Sender<bool>,
}

impl Stop {
    pub(super) fn new() -> Self {
        Stop { sender: watch::Sender::new(false) }
    }

    pub(super) fn now(&self) {
        self.sender.send_replace(true);
    }

    /// Waits until it is told.
    pub(super) async fn told(&self) {
        // It cannot be closed: we hold a sender.
        let _ = self.sender.subscribe().wait_for(|stop| *stop).await;
    }
}

/// stdin, which stops the calls when it is closed.
pub(super) struct Watched<R> {
    pub(super) inner: R,
    pub(super) stop: Stop,
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let room = buffer.remaining() > 0;
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        let closed = match &polled {
            Poll::Ready(Ok(())) => room && buffer.filled().len() == before,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if closed {
            self.stop.now();
        }
        polled
    }
}

/// The names of signals as they come. One that is ignored, or handled by the author, stays so.
pub(super) fn signals() -> std::io::Result<mpsc::UnboundedReceiver<&'static str>> {
    let (mut reader, waker) = std::io::pipe()?;
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut signal = [0_u8];
        while reader.read_exact(&mut signal).is_ok() {
            let name = if i32::from(signal[0]) == libc::SIGINT { "SIGINT" } else { "SIGTERM" };
            if sender.send(name).is_err() {
                return;
            }
        }
    })?;
    sys::wake_instead(waker.into());
    let silent = [(libc::SIGINT, Vec::new()), (libc::SIGTERM, Vec::new())];
    sys::on_signals(silent, Exit::Cancelled.code());
    Ok(receiver)
}

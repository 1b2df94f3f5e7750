//! `tracing` events through the crate's log: one stream, one form, one lock.

use std::fmt::Write;

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::log::Level;
use crate::writer::Writer;

/// A `tracing` layer that writes through a [`Writer`]: plain lines for people, collapsed JSON
/// lines for agents.
///
/// ```
/// use clap_agent::{Buffer, LogLayer, Writer};
/// use tracing_subscriber::prelude::*;
///
/// let stderr = Buffer::new();
/// let out = Writer::builder(Buffer::new(), stderr.clone()).build();
/// let subscriber = tracing_subscriber::registry().with(LogLayer::new(&out));
/// tracing::subscriber::with_default(subscriber, || {
///     tracing::warn!(attempt = 2, "no answer");
/// });
/// out.flush();
/// assert!(stderr.text().contains(r#""level":"warn","msg":"no answer attempt=2""#));
/// ```
#[derive(Clone, Debug)]
pub struct LogLayer {
    writer: Writer,
}

impl LogLayer {
    /// A layer that writes through this writer.
    ///
    /// ```
    /// # use clap_agent::{Buffer, LogLayer, Writer};
    /// let out = Writer::builder(Buffer::new(), Buffer::new()).build();
    /// let layer = LogLayer::new(&out);
    /// # let _ = layer;
    /// ```
    #[must_use]
    pub fn new(writer: &Writer) -> Self {
        LogLayer { writer: writer.clone() }
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = match *event.metadata().level() {
            tracing::Level::ERROR => Level::Error,
            tracing::Level::WARN => Level::Warn,
            tracing::Level::INFO => Level::Info,
            tracing::Level::DEBUG => Level::Debug,
            tracing::Level::TRACE => Level::Trace,
        };
        let mut line = Line::default();
        event.record(&mut line);
        self.writer.log_at(level, line.message + &line.fields);
    }
}

/// The message, then the fields as ` name=value`.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message.push_str(value);
        } else {
            let _ = write!(self.fields, " {}={value}", field.name());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.message, "{value:?}");
        } else {
            let _ = write!(self.fields, " {}={value:?}", field.name());
        }
    }
}

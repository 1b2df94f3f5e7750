//! A panic of the author's function is an answer, too: exit 2 and an `execution_error`, in the
//! reader's form, instead of two lines for the author and 101.
//!
//! Rust's own words about it are kept for those who ask for them: with `RUST_BACKTRACE` set nothing
//! is left out. With `panic = "abort"` there is nothing left to catch.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Arc;
use std::thread;

use crate::error::AgentError;
use crate::exit::Exit;

thread_local! {
    /// Where this thread panicked.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs the author's function. In a process of ours the hook that prints panics is quiet about
/// this thread meanwhile; other threads keep theirs.
pub(crate) fn caught(
    real: bool,
    run: impl FnOnce() -> Result<Exit, AgentError>,
) -> Result<Exit, AgentError> {
    let quiet = real && std::env::var_os("RUST_BACKTRACE").is_none_or(|value| value == "0");
    let before = quiet.then(|| {
        let before: Arc<dyn Fn(&PanicHookInfo<'_>) + Send + Sync> = panic::take_hook().into();
        let (others, main) = (before.clone(), thread::current().id());
        panic::set_hook(Box::new(move |info| {
            if thread::current().id() == main {
                let place = info.location().map(ToString::to_string);
                PLACE.with(|here| *here.borrow_mut() = place);
            } else {
                others(info);
            }
        }));
        before
    });
    let ended = panic::catch_unwind(AssertUnwindSafe(run));
    if let Some(before) = before {
        panic::set_hook(Box::new(move |info| before(info)));
    }
    ended.unwrap_or_else(|payload| Err(error(&*payload)))
}

fn error(payload: &(dyn Any + Send)) -> AgentError {
    let words = payload
        .downcast_ref::<&str>()
        .map(|words| (*words).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no words".to_owned());
    let place = PLACE.with(|here| here.borrow_mut().take());
    let place = place.map(|place| format!(" at {place}")).unwrap_or_default();
    AgentError::execution(format!("the program panicked{place}: {words}"))
        .with_suggestion("this is a defect of the program; report it with the message")
}

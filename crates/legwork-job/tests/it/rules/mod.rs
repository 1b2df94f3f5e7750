//! The rules of jobs, one file an operation or rule.

mod asking;

mod attach;
mod blocked;
mod descriptors;
mod ensure;
mod environment;
mod execute;
#[cfg(feature = "tokio")]
mod futures;
mod limits;
mod list;
mod names;
mod nested;
mod prune;
mod read;
mod requests;
mod screen;
mod secrets;
mod sessions;
mod signal;
mod stdin;
mod stop;
mod survivors;
mod time;
mod wait;
mod workdir;
mod write;

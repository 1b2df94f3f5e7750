//! One verb, one file: what it takes, what is noted about it, what it does.

pub(crate) mod attach;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod ensure;
pub(crate) mod input;
pub(crate) mod list;
pub(crate) mod output;
pub(crate) mod prune;
pub(crate) mod run;
pub(crate) mod screen;
pub(crate) mod signal;
pub(crate) mod start;
pub(crate) mod stop;
pub(crate) mod wait;

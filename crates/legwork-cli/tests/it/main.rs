//! The command as its callers see it: a whole process, its streams and its exit code.

mod attach;
mod completions;
mod describe;
mod help;
mod house;
mod jobs;
mod run;
mod seen;
mod terminal;
mod usage;

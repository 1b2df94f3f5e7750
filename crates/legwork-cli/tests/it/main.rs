//! The command as its callers see it: a whole process, its streams and its exit code.

mod completions;
mod describe;
mod help;
mod house;
mod jobs;
mod person;
mod run;
mod seen;
mod terminal;
mod usage;

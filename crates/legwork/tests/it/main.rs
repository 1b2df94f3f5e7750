//! One integration binary. What a command does is tested in both forms of the library, from one
//! list (see `forms`); the person's terminal, panics, and what only one form has, in one.

mod bad_input;
mod bundler;
mod circumstances;
mod containment;
mod context;
mod endings;
mod environment;
mod forms;
mod handle;
mod output;
mod pipeline;
mod survivors;
mod terminal;

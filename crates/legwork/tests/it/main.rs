//! One integration binary. Every test that runs a command does so in both forms of the library,
//! from one list; see `forms`.

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

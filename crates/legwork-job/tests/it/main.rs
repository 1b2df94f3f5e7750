//! One integration binary. The supervisor is `misbehave` of the testkit, which embeds this crate as
//! any program would; the processes are real.

mod faults;
mod rules;
mod support;

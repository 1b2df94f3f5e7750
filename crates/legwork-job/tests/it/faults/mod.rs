//! What goes wrong around jobs, broken for real, one file a fault.

mod crowds;
mod elsewhere;
mod front_end;
mod full_disk;
mod lost;
mod owners;
mod protocol;
mod seen;
mod stopped;
mod twice;

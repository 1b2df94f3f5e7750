//! What goes wrong around jobs, broken for real, one file a fault.

mod crowds;
mod elsewhere;
mod formats;
mod front_end;
mod full_disk;
mod kills;
mod lost;
mod owners;
mod protocol;
mod seen;
mod stopped;
mod twice;

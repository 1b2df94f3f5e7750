//! What goes wrong around jobs, broken for real, one file a fault.

mod lost;

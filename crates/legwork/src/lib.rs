//! Run a command, know how it ended.

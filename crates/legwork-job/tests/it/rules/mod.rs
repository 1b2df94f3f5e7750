//! The rules of jobs, one file an operation.

mod execute;

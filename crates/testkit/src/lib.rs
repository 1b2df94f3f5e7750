//! Small misbehaving programs for tests.

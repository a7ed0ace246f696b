//! Nothing lives here: the tests are in `main.rs` and its modules.

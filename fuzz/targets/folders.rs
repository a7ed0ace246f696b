//! `folders`, searched by coverage.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tickframe_fuzz::call("folders", bytes));

//! The naive engine: row at a time over `Vec<Row>`, the oracle of every law; tests only.

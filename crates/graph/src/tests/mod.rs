//! Tests of the graph as a whole.

mod support;

mod order;

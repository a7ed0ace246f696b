//! Cells by row key: Arrow chunks, blocks, undo, kernels.

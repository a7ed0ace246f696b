"""User functions in expressions: the decorator (`api`), result types (`infer`), and how they are called."""

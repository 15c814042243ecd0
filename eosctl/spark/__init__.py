"""The audit on Spark: the one room that imports pyspark. It carries the folds to executors and decides nothing."""

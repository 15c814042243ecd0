"""HTTP for Prometheus: the metrics of the last cycle of each cluster, and whether they are there."""

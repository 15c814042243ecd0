"""The metrics of the last cycle of each cluster: HTTP for Prometheus, and pushes by OTLP."""

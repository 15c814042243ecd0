"""What `watch` measures: the table of metrics, and the answers of commands as samples of them."""

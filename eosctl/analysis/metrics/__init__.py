"""The metrics of `watch`: their table, and the answers of commands as samples."""

"""What `data` of each kind of document holds, as types: views build it, and the JSON Schemas are derived from it."""

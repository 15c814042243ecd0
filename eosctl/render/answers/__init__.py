"""One file a noun: what a command answers, as types, and how it is laid out for people."""


# The types of `data` in each kind of document: views build it, and the JSON Schemas are derived from it.

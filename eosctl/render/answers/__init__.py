"""One file a noun: what a command answers, as types, and how it is laid out for people."""


# What `data` of each kind of document holds, as types: views build it, and the JSON Schemas are derived from it.

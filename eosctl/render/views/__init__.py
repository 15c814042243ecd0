"""One view per noun: a model value becomes a Document."""

"""Model to text, pure; console.py is the only writer."""

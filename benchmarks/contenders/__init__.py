"""Those who take part in a benchmark from processes of their own."""

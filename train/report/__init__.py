"""One self-contained HTML page about a run: what it was to see, what it saw, and how it went."""

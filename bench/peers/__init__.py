"""Other servers and trainers that are measured against; they run in `.bench-venv`."""

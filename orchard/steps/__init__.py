"""Steps that run as a program of their own: `python -m orchard.steps.<name> --build ID`."""

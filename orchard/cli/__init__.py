"""The command line: `python -m orchard VERB`. Each verb is a thin caller of `orchard.api`."""

"""What `check` decides, row by row: verdicts, label names, near-duplicates, splits, the summary.

Functions over Arrow record batches and plain values; Spark calls them and is not known here.
"""

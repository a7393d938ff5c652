"""The report of an evaluation: as JSON, and as one HTML page for people without machine learning."""

"""Training of sound classifiers."""

"""Evaluation: from pixels to predictions (one row a sample and bundle), from these to all figures."""

"""Orchard: from labelled samples to a served model."""

"""Training of picture classifiers: heads on cached features, searched by successive halving."""

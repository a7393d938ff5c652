"""Training of object detectors: light anchor-free heads on frozen feature maps."""

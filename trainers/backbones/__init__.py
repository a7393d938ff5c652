"""Pretrained networks: their description and weights, in Paddle and as ONNX graphs."""

from trainers.backbones.registry import (
    Backbone,
    backbones,
    feature_layout,
    get_backbone,
    register,
)

__all__ = ["Backbone", "backbones", "feature_layout", "get_backbone", "register"]

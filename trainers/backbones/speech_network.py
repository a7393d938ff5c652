"""The speech embedding as a Paddle layer from samples to pooled features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trainers.backbones.architecture import FeatureSpan
from trainers.backbones.speech_embedding import (
    FLOOR,
    FULL_SCALE,
    HOP,
    OFFSETS,
    RANGE,
    SHIFT,
    SLOPE,
    SMALLEST_POWER,
    TENTH,
    parameter_shapes,
    used_layers,
)
from trainers.engine import paddle


class SpeechNetwork(paddle.nn.Layer):
    """Spectrogram, network and pooling as a Paddle layer; its parameters are named as the weights.

    Args:
        spans: the pooled parts that it gives, in order.
    """

    def __init__(self, spans: Sequence[FeatureSpan]) -> None:
        super().__init__()
        self.spans = tuple(spans)
        for name, shape in parameter_shapes(spans).items():
            self.add_parameter(name.replace(".", "_"), self.create_parameter(list(shape)))

    def forward(self, samples: paddle.Tensor) -> paddle.Tensor:
        """(rows, samples) → (rows, D)."""
        spectrogram = self._spectrogram(samples)
        outputs: dict[str, list[paddle.Tensor]] = {}
        for offset in OFFSETS:
            for name, output in self._network(spectrogram[:, :, offset:]).items():
                outputs.setdefault(name, []).append(output)
        parts = []
        for span in self.spans:
            whole = paddle.concat(outputs[span.block], axis=2)
            if span.pooling == "max":
                pooled = whole.amax(axis=2)
            elif span.pooling == "mean":
                pooled = whole.mean(axis=2)
            else:
                change = whole - whole.mean(axis=2, keepdim=True)
                pooled = (change * change).mean(axis=2).sqrt()
            parts.append(pooled.flatten(1))
        return paddle.concat(parts, axis=1)

    def _held(self, name: str) -> paddle.Tensor:
        return getattr(self, name.replace(".", "_"))

    def _spectrogram(self, samples: paddle.Tensor) -> paddle.Tensor:
        convolve = paddle.nn.functional.conv1d
        value = (samples * FULL_SCALE).unsqueeze(1)
        real = convolve(value, self._held("mel.real"), stride=HOP)
        imaginary = convolve(value, self._held("mel.imaginary"), stride=HOP)
        power = (real * real + imaginary * imaginary).transpose([0, 2, 1])
        bands = paddle.matmul(power, self._held("mel.bands"))
        decibels = bands.clip(min=SMALLEST_POWER).log() * (10 / np.log(10))
        floor = decibels.amax(axis=[1, 2], keepdim=True) - RANGE
        return (paddle.maximum(decibels, floor) * TENTH + SHIFT).unsqueeze(1)

    def _network(self, value: paddle.Tensor) -> dict[str, paddle.Tensor]:
        functional = paddle.nn.functional
        wanted = {span.block for span in self.spans}
        outputs = {}
        for layer in used_layers(self.spans):
            bias = (
                None if layer.name in ("conv0", "embedding") else self._held(f"{layer.name}.bias")
            )
            value = functional.conv2d(
                value, self._held(f"{layer.name}.weight"), bias, padding=[0, layer.kernel[1] // 2]
            )
            if layer.name == "conv0":
                scale, shift = self._held("conv0.scale"), self._held("conv0.shift")
                value = functional.relu(value) * scale.reshape([1, -1, 1, 1])
                value = value + shift.reshape([1, -1, 1, 1])
            if layer.name != "embedding":
                value = functional.leaky_relu(value, SLOPE).clip(min=FLOOR)
            if layer.name in wanted:
                outputs[layer.name] = value
            if layer.pool:
                value = functional.max_pool2d(value, layer.pool, layer.pool)
        return outputs

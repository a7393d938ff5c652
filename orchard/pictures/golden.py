"""Made-up pictures for golden vectors."""

from __future__ import annotations

import io
from functools import lru_cache

import numpy as np
from PIL import Image

_GOLDEN_SIZES = ((160, 120), (97, 131), (40, 40), (149, 64))


@lru_cache(maxsize=1)
def golden_payloads() -> tuple[bytes, ...]:
    """Seeded PNG pictures of several shapes: gradients, blocks and noise; always the same pixels."""
    return tuple(_golden(seed, *size) for seed, size in enumerate(_GOLDEN_SIZES))


def _golden(seed: int, width: int, height: int) -> bytes:
    random = np.random.Generator(np.random.PCG64(seed))
    blocks = random.integers(0, 256, (height // 16 + 1, width // 16 + 1, 3), dtype=np.int64)
    coarse = blocks.repeat(16, axis=0).repeat(16, axis=1)[:height, :width]
    ramp = (np.arange(width)[None, :, None] * 255) // max(width - 1, 1)
    noise = random.integers(-20, 21, (height, width, 3), dtype=np.int64)
    pixels = np.clip((2 * coarse + ramp) // 3 + noise, 0, 255).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()

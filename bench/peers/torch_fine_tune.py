"""A plain, competent fine-tuning in PyTorch, against the clock.

`python -m bench.peers.torch_fine_tune TASK.json` (written by `bench.pytorch_peer`). All layers are
trained with AdamW; the rate rises over the first tenth of the time and falls along a cosine to its
end; crops, mirror, light; label smoothing; the new layer learns ten times as fast; statistics of
batch normalisation stay, as is usual for small sets. Pictures are decoded once, before the clock
starts, and the clock stands still while the test pictures are asked. A JSON line after each epoch.
"""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import nn

from bench.peers.lite0 import MEAN, SCALE, Lite0, pretrained

SIZE, STORED = 224, 256
BATCH = 32
RATE, HEAD_FACTOR = 3e-4, 10.0
WEIGHT_DECAY, SMOOTHING, WARM_UP = 0.02, 0.1, 0.1


def stored(path: str) -> torch.Tensor:
    """(3, 256, 256) uint8."""
    with Image.open(path) as image:
        small = image.convert("RGB").resize((STORED, STORED), Image.Resampling.BILINEAR)
    return torch.from_numpy(np.asarray(small).transpose(2, 0, 1).copy())


def changed(picture: torch.Tensor, random: np.random.Generator) -> torch.Tensor:
    """A crop of 70 to 100 % of each side, perhaps mirrored, in other light."""
    height, width = (int(STORED * random.uniform(0.7, 1.0)) for _ in range(2))
    top = int(random.integers(0, STORED - height + 1))
    left = int(random.integers(0, STORED - width + 1))
    part = picture[:, top : top + height, left : left + width].float()
    part = resized(part)
    if random.random() < 0.5:
        part = part.flip(2)
    middle = part.mean()
    part = (part - middle) * random.uniform(0.8, 1.2) + middle
    return (part * random.uniform(0.8, 1.2)).clamp(0, 255)


def resized(picture: torch.Tensor) -> torch.Tensor:
    """(3, 224, 224) float."""
    return nn.functional.interpolate(
        picture[None], (SIZE, SIZE), mode="bilinear", antialias=True, align_corners=False
    )[0]


def batch_of(pictures: list[torch.Tensor]) -> torch.Tensor:
    """The network's input."""
    values = (torch.stack(pictures) - MEAN) / SCALE
    return values.contiguous(memory_format=torch.channels_last)


def set_training(model: Lite0) -> None:
    """Training mode, with the statistics of batch normalisation as they are."""
    model.train()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eval()


def accuracy(model: Lite0, pictures: list[torch.Tensor], truth: torch.Tensor) -> float:
    """On unchanged pictures."""
    model.eval()
    right = 0
    with torch.inference_mode():
        for start in range(0, len(pictures), BATCH):
            inputs = batch_of([resized(p.float()) for p in pictures[start : start + BATCH]])
            right += int((model(inputs).argmax(1) == truth[start : start + BATCH]).sum())
    return right / len(pictures)


def factor(share: float) -> float:
    """Of the rate, after a share of the time."""
    if share < WARM_UP:
        return share / WARM_UP + 1e-3
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (share - WARM_UP) / (1 - WARM_UP))))


def train(task: dict[str, Any]) -> None:
    """Train for `seconds`; print what the test pictures say after each epoch."""
    torch.manual_seed(task["seed"])
    torch.set_num_threads(task["threads"])
    random = np.random.default_rng(task["seed"])
    pictures = {part: [stored(path) for path in task[part]["files"]] for part in ("train", "test")}
    truth = {part: torch.tensor(task[part]["truth"]) for part in ("train", "test")}
    model = pretrained(task["classes"]).to(memory_format=torch.channels_last)
    head = list(model._fc.parameters())
    body = [p for name, p in model.named_parameters() if not name.startswith("_fc.")]
    optimiser = torch.optim.AdamW(
        [{"params": body, "lr": RATE}, {"params": head, "lr": RATE * HEAD_FACTOR}],
        weight_decay=WEIGHT_DECAY,
    )
    highest = [group["lr"] for group in optimiser.param_groups]
    loss_of = nn.CrossEntropyLoss(label_smoothing=SMOOTHING)
    spent, epoch, seconds = 0.0, 0, float(task["seconds"])
    while spent < seconds:
        epoch += 1
        set_training(model)
        order = random.permutation(len(pictures["train"]))
        for start in range(0, len(order), BATCH):
            began = time.monotonic()
            for group, rate in zip(optimiser.param_groups, highest, strict=True):
                group["lr"] = rate * factor(spent / seconds)
            rows = order[start : start + BATCH]
            inputs = batch_of([changed(pictures["train"][row], random) for row in rows])
            loss = loss_of(model(inputs), truth["train"][torch.from_numpy(rows)])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            spent += time.monotonic() - began
            if spent >= seconds:
                break
        found = accuracy(model, pictures["test"], truth["test"])
        line = {"epoch": epoch, "seconds": spent, "loss": loss.item(), "test_accuracy": found}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    train(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))

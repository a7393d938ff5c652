"""What the drawn pictures hold: the defect and nothing else tells the classes apart."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from examples import cart, keyboard, sets

SIZE = (320, 240)


def pixels(picture: Image.Image) -> npt.NDArray[np.float64]:
    return np.asarray(picture, dtype=np.float64)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("label", ["key_missing", "wrong_key"])
def test_a_keyboard_s_defect_is_one_clearly_seen_key(label: str, seed: int) -> None:
    whole = pixels(keyboard.draw(np.random.default_rng(seed), "normal", SIZE))
    other = pixels(keyboard.draw(np.random.default_rng(seed), label, SIZE))
    changed = np.abs(whole - other).max(axis=2) > 12
    rows, columns = np.nonzero(changed)
    assert changed.sum() >= 60
    assert np.ptp(rows) < SIZE[1] / 5
    assert np.ptp(columns) < SIZE[0] / 4


@pytest.mark.parametrize("seed", range(6))
def test_goods_change_the_tray_alone(seed: int) -> None:
    empty = pixels(cart.draw(np.random.default_rng(seed), "empty", SIZE))
    loaded = pixels(cart.draw(np.random.default_rng(seed), "with_goods", SIZE))
    changed = np.abs(empty - loaded).max(axis=2) > 12
    assert 0.004 < changed.mean() < 0.4


def test_every_key_but_the_space_bar_can_go_wrong() -> None:
    centres = set()
    for seed in range(40):
        whole = pixels(keyboard.draw(np.random.default_rng(seed), "normal", (160, 120)))
        other = pixels(keyboard.draw(np.random.default_rng(seed), "key_missing", (160, 120)))
        rows, columns = np.nonzero(np.abs(whole - other).max(axis=2) > 12)
        centres.add((int(rows.mean()) // 15, int(columns.mean()) // 20))
    assert len(centres) > 15


@pytest.mark.parametrize("name", sets.NAMES)
@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_thumbnails_do_not_tell_the_classes_apart(name: str, mode: str) -> None:
    count = 120
    rows, truth = [], []
    for label in sets.labels(name):
        for index in range(count):
            with Image.open(io.BytesIO(sets.picture(name, label, index, 7, (160, 120)))) as picture:
                small = picture.convert(mode).resize((32, 32), Image.Resampling.BOX)
            rows.append(np.asarray(small, dtype=np.float64).ravel() / 255)
            truth.append(label)
    model = LogisticRegression(C=0.01, max_iter=100, tol=1e-3)
    accuracy = float(cross_val_score(model, np.stack(rows), truth, cv=4).mean())
    assert accuracy <= 0.80

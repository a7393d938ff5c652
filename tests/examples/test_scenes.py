"""What the drawn pictures hold: the defect and nothing else tells the classes apart."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from examples import cart, floor, keyboard, sets

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


def test_the_defect_moves_over_the_whole_keyboard() -> None:
    size = (160, 120)
    places = set()
    for seed in range(16):
        whole = pixels(keyboard.draw(np.random.default_rng(seed), "normal", size))
        other = pixels(keyboard.draw(np.random.default_rng(seed), "key_missing", size))
        rows, columns = np.nonzero(np.abs(whole - other).max(axis=2) > 12)
        places.add((int(rows.mean()) // 40, int(columns.mean()) // 40))
    assert len(places) >= 6


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("label", ["crack", "stain"])
def test_a_floor_s_defect_is_one_clearly_seen_place(label: str, seed: int) -> None:
    whole = pixels(floor.draw(np.random.default_rng(seed), "normal", SIZE))
    other = pixels(floor.draw(np.random.default_rng(seed), label, SIZE))
    changed = np.abs(whole - other).max(axis=2) > 12
    assert 100 <= changed.sum() < 0.12 * changed.size


@pytest.mark.parametrize(
    ("name", "count", "most"), [("cart", 120, 0.80), ("keyboard", 120, 0.80), ("floor", 60, 0.85)]
)
def test_thumbnails_do_not_tell_the_classes_apart(name: str, count: int, most: float) -> None:
    truth = [label for label in sets.labels(name) for _ in range(count)]
    thumbnails: dict[str, list[npt.NDArray[np.float64]]] = {"L": [], "RGB": []}
    for number, label in enumerate(truth):
        files = sets.sample(name, label, number % count, 7, SIZE)
        with Image.open(io.BytesIO(files[".jpg"])) as picture:
            small = picture.convert("RGB").resize((32, 32), Image.Resampling.BOX)
        for mode, rows in thumbnails.items():
            rows.append(pixels(small.convert(mode)).ravel() / 255)
    for rows in thumbnails.values():
        model = LogisticRegression(C=0.1, max_iter=40, tol=1e-2)
        accuracy = float(cross_val_score(model, np.stack(rows), truth, cv=3).mean())
        assert accuracy <= most

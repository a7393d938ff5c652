"""Views of windows and of spectrograms."""

from __future__ import annotations

import numpy as np
import pytest

from orchard.errors import BadInput
from orchard.preprocess import sound
from orchard.tasks.sound_classification import TASK
from orchard.tasks.sound_classification.views import VIEWS, view
from tests.orchard.odd_sounds import tone


def windows() -> np.ndarray:
    return np.stack([tone(0.5), tone(0.5, frequency=900, peak=0.1)])


def picture() -> np.ndarray:
    operations = [*sound.standard(8000), sound.mel_operation(hop=250, bands=32)]
    return np.concatenate([sound.apply(operations, row) for row in windows()])


def test_the_task_names_all_views() -> None:
    assert TASK.views == VIEWS


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_samples_has_their_shape_and_is_always_the_same(name: str) -> None:
    inputs = windows()
    found = view(inputs, name)
    assert found.shape == inputs.shape and found.dtype == np.float32
    assert (found == view(inputs, name)).all()
    assert (inputs == windows()).all()
    assert (found == inputs).all() == (name == "plain")
    # A window's view does not depend on the windows beside it.
    assert (view(inputs[1:], name) == found[1:]).all()


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_a_picture_stays_in_its_range(name: str) -> None:
    inputs = picture()
    found = view(inputs, name)
    assert found.shape == inputs.shape and found.dtype == np.float32
    assert found.min() >= -1 and found.max() <= 1
    assert (found == inputs).all() == (name in ("plain", "quiet"))


def test_what_the_views_do_to_a_tone() -> None:
    inputs = windows()
    power = np.square(inputs).mean(axis=1)
    assert np.square(view(inputs, "quiet")).mean(axis=1) == pytest.approx(
        power * 10**-1.5, rel=1e-3
    )
    added = np.square(view(inputs, "noise") - inputs).mean(axis=1)
    assert added == pytest.approx(power / 100, rel=0.05)
    pitch = [
        np.abs(np.fft.rfft(view(inputs, name)[0])).argmax() for name in ("slow", "plain", "fast")
    ]
    assert pitch == pytest.approx([440 / 2 * 0.9, 440 / 2, 440 / 2 / 0.9], abs=1.5)


def test_an_unknown_view_is_refused() -> None:
    with pytest.raises(BadInput, match="no such view"):
        view(windows(), "mirror")

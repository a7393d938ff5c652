from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tests.trainers.classification.synthetic import (
    CLASSES,
    LAYOUT,
    WIDTH,
    clusters,
    folder,
    work,
)
from trainers.classification import bases
from trainers.classification.bases import Recipe, make_basis, moments
from trainers.classification.branch import Found, search
from trainers.classification.candidates import RECIPES, Candidate, draw
from trainers.classification.ensemble import merged
from trainers.classification.heads import HeadGroup, Problem
from trainers.classification.population import HeadPopulation, measure_of
from trainers.engine import set_threads
from trainers.head_weights import HeadWeights


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    set_threads(1)


def logits_of(head: HeadWeights, values: np.ndarray) -> np.ndarray:
    for number, (weight, bias) in enumerate(head.folded()):
        values = (np.maximum(values, 0) if number else values) @ weight + bias
    return values


def run(path: Path, name: str = "a", **changes: object) -> Found:
    features, problem = clusters(240)
    given: dict[str, object] = {"objective": "accuracy", "seed": 3, **changes}
    return search(features, LAYOUT, problem, work(), folder=folder(path, name), **given)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What one search found; nobody changes it."""
    set_threads(1)
    return run(tmp_path_factory.mktemp("search"))


def test_the_same_plan_and_features_give_the_same_weights_bit_for_bit(
    found: Found, tmp_path: Path
) -> None:
    one, two = found, run(tmp_path)
    assert one.members == two.members
    assert one.temperature == two.temperature
    for first, second in zip(one.head.layers, two.head.layers, strict=True):
        assert first[0].tobytes() == second[0].tobytes()
        assert first[1].tobytes() == second[1].tobytes()
    assert [r.curve for r in one.outcome.records] == [r.curve for r in two.outcome.records]


def test_another_seed_gives_another_head(found: Found, tmp_path: Path) -> None:
    two = run(tmp_path, seed=4)
    assert not np.array_equal(found.head.layers[0][0], two.head.layers[0][0])


def test_the_head_does_as_well_on_new_samples_as_validation_says(found: Found) -> None:
    features, problem = clusters(600, seed=1)
    new = features.matrix[0].astype(np.float32)
    accuracy = (logits_of(found.head, new).argmax(axis=1) == problem.truth).mean()
    known, asked = clusters(240)
    peer = LogisticRegression(max_iter=500).fit(known.matrix[0].astype(np.float32), asked.truth)
    assert accuracy >= peer.score(new, problem.truth) - 0.01
    assert abs(accuracy - found.measure.figures["accuracy"]) < 0.08


def test_a_candidate_was_stopped_early_with_its_curve_and_reason(found: Found) -> None:
    stopped = [record for record in found.outcome.records if record.stopped]
    assert stopped
    for record in stopped:
        assert record.reason.startswith(f"stopped at epoch {record.epochs}: no better than")
        assert record.curve[-1]["epoch"] == record.epochs
        assert record.epochs - record.best_epoch >= 12
    halved = [r for r in found.outcome.records if r.reason.startswith("halved: rank")]
    assert halved


def test_out_of_fold_logits_come_from_models_that_never_saw_the_sample(tmp_path: Path) -> None:
    features, problem = clusters(60, noise=4.0)
    shuffled = np.random.default_rng(5).integers(0, CLASSES, 60)
    random = Problem(shuffled.astype(np.int64), problem.folds, 5, CLASSES)
    basis = make_basis(
        features, moments(features), LAYOUT, Recipe(), rank=64, seed=0, folder=tmp_path
    )
    group = HeadGroup(basis, [Candidate(mixup=0.5)], random, seed=0)
    for _ in range(60):
        group.train_epoch()
    accuracy = (group.logits()[0].argmax(axis=1) == shuffled).mean()
    assert accuracy < 0.6  # chance is a third; a model that saw the labels would have learnt them
    free = Problem(random.truth, np.full(60, -1), 0, CLASSES)
    everything = HeadGroup(basis, [Candidate(mixup=0.0)], free, seed=0)
    for _ in range(60):
        everything.train_epoch()
    assert (everything.logits()[0].argmax(axis=1) == shuffled).mean() > 0.95


def test_a_head_does_not_depend_on_which_others_train_beside_it(tmp_path: Path) -> None:
    features, problem = clusters(90)
    basis = make_basis(
        features, moments(features), LAYOUT, Recipe(), rank=64, seed=0, folder=tmp_path
    )
    candidates = [Candidate(learning_rate=rate, mixup=0.2) for rate in (0.3, 1.0, 2.0)]
    together = HeadGroup(basis, candidates, problem, seed=0)
    alone = HeadGroup(basis, candidates[1:2], problem, seed=0)
    for epoch in range(6):
        together.train_epoch()
        alone.train_epoch()
        if epoch == 2:
            together.retain([1, 2])
    np.testing.assert_allclose(together.logits()[0], alone.logits()[0], atol=1e-3)


@pytest.mark.parametrize("hidden", [0, 8])
@pytest.mark.parametrize("optimiser", ["momentum", "novograd"])
def test_a_head_on_coordinates_is_the_same_head_on_features(
    tmp_path: Path, hidden: int, optimiser: str
) -> None:
    features, problem = clusters(90)
    basis = make_basis(
        features, moments(features), LAYOUT, Recipe("late"), rank=32, seed=0, folder=tmp_path
    )
    rate = 0.1 if hidden else 1.0
    free = Problem(problem.truth, np.full(90, -1), 0, CLASSES)
    candidate = Candidate(hidden=hidden, optimiser=optimiser, learning_rate=rate, dropout=0.3)
    group = HeadGroup(basis, [candidate], free, seed=0)
    for _ in range(5):
        group.train_epoch()
    head = HeadWeights(basis.mean, basis.scale, group.layers(0))
    head.check(WIDTH)
    expected = group.logits()[0]
    found = logits_of(head, features.matrix[0].astype(np.float32))
    np.testing.assert_allclose(found, expected, atol=2e-3 * max(1, np.abs(expected).max()))


def test_merged_heads_are_the_average_of_their_logits() -> None:
    generator = np.random.default_rng(0)

    def head(*shapes: tuple[int, int], temperature: float) -> HeadWeights:
        layers = [
            (
                generator.standard_normal(shape).astype(np.float32),
                generator.standard_normal(shape[1]).astype(np.float32),
            )
            for shape in shapes
        ]
        mean = generator.standard_normal(10).astype(np.float32)
        scale = generator.uniform(0.5, 2, 10).astype(np.float32)
        return HeadWeights(mean, scale, layers, temperature)

    linear = [head((10, 4), temperature=2.0), head((10, 4), temperature=0.5)]
    deep = [head((10, 6), (6, 4), temperature=1.5), head((10, 3), (3, 4), temperature=1.0)]
    values = generator.standard_normal((20, 10)).astype(np.float32)
    for heads in (linear, deep, linear + deep):
        shares = [1 / len(heads)] * len(heads)
        expected = sum(s * logits_of(h, values) for h, s in zip(heads, shares, strict=True))
        np.testing.assert_allclose(logits_of(merged(heads, shares), values), expected, atol=1e-3)
    assert len(merged(linear, [0.5, 0.5]).layers) == 1


@pytest.mark.parametrize("recipe", [*RECIPES, Recipe("last", "max"), Recipe("all", "mean")])
def test_a_basis_uses_only_its_features_and_keeps_lengths(tmp_path: Path, recipe: Recipe) -> None:
    features, _ = clusters(80)
    basis = make_basis(
        features, moments(features), LAYOUT, recipe, rank=512, seed=0, folder=tmp_path
    )
    columns = bases.columns_of(recipe, LAYOUT)
    outside = np.setdiff1d(np.arange(WIDTH), columns)
    assert not basis.projection[outside].any()
    standardised = (features.matrix[0].astype(np.float32) - basis.mean) / basis.scale
    np.testing.assert_allclose(standardised @ basis.projection, basis.coordinates[0], atol=1e-3)
    assert np.square(basis.coordinates[0]).sum(axis=1).mean() == pytest.approx(1.0, rel=1e-3)
    whole = np.square(standardised[:, columns]).sum()
    assert np.square(basis.coordinates[0]).sum() / 80 == pytest.approx(1.0, rel=1e-3)
    assert whole > 0


def test_the_draw_begins_with_the_default_and_repeats() -> None:
    assert draw(40, seed=5) == draw(40, seed=5)
    assert draw(40, seed=5)[1:] != draw(40, seed=6)[1:]
    assert draw(10, seed=5) == draw(40, seed=5)[:10]
    assert draw(1, seed=5) == [Candidate()]
    kinds = draw(200, seed=1)
    assert {c.optimiser for c in kinds} == {"momentum", "novograd"}
    assert {c.hidden > 0 for c in kinds} == {False, True}


def test_without_folds_the_validation_rows_alone_measure(tmp_path: Path) -> None:
    features, problem = clusters(120, folds=5)
    single = Problem(problem.truth, np.where(problem.folds == 0, 0, -1), 1, CLASSES)
    found = search(features, LAYOUT, single, work(), objective="accuracy", seed=1, folder=tmp_path)
    assert sorted(found.rows) == sorted(np.flatnonzero(problem.folds == 0))
    assert found.measure.figures["samples"] == len(found.rows)


def test_the_objective_decides_what_is_measured() -> None:
    logits = np.zeros((10, 2), np.float32)
    logits[:, 0] = 1.0
    truth = np.array([0] * 8 + [1] * 2)
    by_accuracy = measure_of(logits, truth, "accuracy")
    by_worst = measure_of(logits, truth, "worst_class_recall")
    assert by_accuracy.figures["accuracy"] == pytest.approx(0.8)
    assert by_worst.figures["worst_class_recall"] == 0.0
    assert by_worst.figures["worst_class_support"] == 2
    assert by_worst.score < by_accuracy.score
    lost = np.log1p(np.exp([-8.0, 8.0]))  # of a right and a wrong answer, at temperature 1
    figures = measure_of(8 * logits[:9], truth[:9], "accuracy").figures
    assert figures["log_loss"] == pytest.approx((8 * lost[0] + lost[1]) / 9, rel=1e-3)
    assert figures["macro_log_loss"] == pytest.approx(lost.mean(), rel=1e-3)


def test_a_large_set_is_trained_in_batches(tmp_path: Path) -> None:
    features, problem = clusters(5000)
    basis = make_basis(
        features, moments(features), LAYOUT, Recipe(), rank=32, seed=0, folder=tmp_path
    )
    population = HeadPopulation([Candidate()], {Recipe(): basis}, problem, "accuracy", 0)
    for _ in range(6):
        population.train_epoch()
    assert population.measure()[0].figures["accuracy"] > 0.9

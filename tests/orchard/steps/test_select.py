"""Select: the tie rule, and the step on a real store and documents server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchard import bundle as bundles
from orchard import program
from orchard.blobs import Blobs, keys
from orchard.catalog.connection import documents
from orchard.errors import EXIT_BAD_INPUT, EXIT_DONE, BadInput
from orchard.settings import settings
from orchard.steps import select
from orchard.steps.select import LARGEST_TIE, Contender, choose, leaderboard
from orchard.tasks import task
from tests.small_build import COLOURS, OWNER, SmallBuild, write_bundle
from tests.small_build import TASK as TASK_NAME

TASK = task(TASK_NAME)


def contender(branch: str, score: float, parameters: int, **other: Any) -> Contender:
    values: dict[str, Any] = {"samples": 100, "cost": 224.0**2, "log_loss": 0.3, **other}
    return Contender(
        branch, branch.title(), "0" * 16, score, parameters=parameters, facts={}, **values
    )


def test_the_lowest_log_loss_wins_where_the_scores_are_within_an_error() -> None:
    pair = [
        contender("small", 0.91, 10, log_loss=0.34),
        contender("large", 0.90, 20, log_loss=0.30),
    ]
    winner, reason = choose(pair)
    assert winner.branch == "large"
    assert "Large has the lowest log-loss with 0.300 (score 0.9000)" in reason


def test_a_branch_far_behind_in_score_is_out_however_low_its_log_loss() -> None:
    pair = [
        contender("sure", 0.80, 10, log_loss=0.2),
        contender("right", 0.90, 20, log_loss=0.3),
    ]
    winner, reason = choose(pair)
    assert winner.branch == "right"
    assert "1 more than one standard error behind in score left out" in reason


def test_many_samples_make_the_guard_narrower() -> None:
    few, many = (
        [
            contender("a", 0.900, 10, samples=samples, log_loss=0.25),
            contender("b", 0.905, 10, samples=samples, log_loss=0.30),
        ]
        for samples in (100, 10**6)
    )
    assert choose(few)[0].branch == "a"
    assert choose(many)[0].branch == "b"


def test_the_smaller_wins_a_tie_and_the_reason_says_so() -> None:
    winner, reason = choose(
        [contender("large", 0.9, 20, log_loss=0.300), contender("small", 0.9, 10, log_loss=0.309)]
    )
    assert winner.branch == "small"
    assert "Small has a log-loss of 0.309 (score 0.9000), Large 0.300" in reason
    assert "smaller" in reason


def test_more_than_a_tie_is_not_given_to_the_smaller() -> None:
    pair = [
        contender("large", 0.9, 20, log_loss=0.300),
        contender("small", 0.9, 10, log_loss=0.311),
    ]
    assert choose(pair)[0].branch == "large"


def test_of_equal_parameters_the_smaller_input_wins_a_tie() -> None:
    pair = [contender("a", 0.9, 3_412_000, cost=320.0**2), contender("b", 0.9, 3_409_000)]
    assert choose(pair)[0].branch == "b"


def test_of_equal_size_the_lower_loss_then_the_better_score_wins() -> None:
    pair = [contender("a", 0.9, 10, log_loss=0.304), contender("b", 0.9, 10, log_loss=0.3)]
    assert choose(pair)[0].branch == "b"
    assert choose([contender("a", 0.900, 10), contender("b", 0.901, 10)])[0].branch == "b"


def test_no_branch_is_refused_and_one_is_the_only() -> None:
    with pytest.raises(BadInput, match="No branch"):
        choose([])
    assert choose([contender("a", 0.5, 1)])[1] == "A is the only branch"


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(1, 10**7), st.integers(1, 10**6), st.floats(0, 5)),
        min_size=1,
        max_size=12,
    )
)
def test_the_winner_is_never_far_behind_nor_does_the_order_matter(
    rows: list[tuple[float, int, int, float]],
) -> None:
    every = [
        contender(f"b{i}", s, p, samples=n, log_loss=loss) for i, (s, p, n, loss) in enumerate(rows)
    ]
    winner, _ = choose(every)
    leader = min(every, key=lambda one: (-one.score, one.log_loss, one.branch))
    least = leader.score - leader.standard_error - 1e-9
    assert winner.score >= least
    sound = [one for one in every if one.score >= least]
    assert winner.log_loss <= min(one.log_loss for one in sound) + LARGEST_TIE + 1e-9
    assert choose(every[::-1])[0] is winner
    table = leaderboard(every, winner)
    assert table[0]["branch"] == winner.branch
    losses = [row["log_loss"] for row in table[1:]]
    assert losses == sorted(losses)
    assert sum(row["winner"] for row in table) == 1


def test_the_loss_is_that_of_the_objective_or_what_the_score_lacks() -> None:
    validation = {
        "accuracy": 0.9,
        "worst_class_recall": 0.7,
        "log_loss": 0.3,
        "macro_log_loss": 0.4,
    }
    facts = {"branch": "a", "bundle": "0" * 16, "parameters": 1, "validation": validation}
    facts["support"] = 10
    assert select.contender(TASK, {}, facts, "accuracy").log_loss == 0.3
    assert select.contender(TASK, {}, facts, "worst_class_recall").log_loss == 0.4
    bare = {**facts, "validation": {"accuracy": 0.9}}
    assert select.contender(TASK, {}, bare, "accuracy").log_loss == pytest.approx(0.1)


@pytest.fixture
def build(orchard_home: Path) -> SmallBuild:
    build = SmallBuild(Blobs(settings().blobs_root), documents())
    build.start("manual__2026")
    for label in COLOURS:
        build.add(label, "train", 6)
    return build


def test_the_step_stores_the_winner_s_bundle(build: SmallBuild, tmp_path: Path) -> None:
    one, two = (write_bundle(tmp_path / f"{s}", COLOURS, sharpness=s) for s in (2.0, 8.0))
    build.plan([{"key": "lite0", "size": 224}, {"key": "lite1", "size": 288}, {"key": "gone"}])
    build.trial(0, "lite0", one.folder)
    build.trial(1, "lite1", two.folder, validation={"accuracy": 0.95, "log_loss": 0.2})
    arguments = ["--build", build.build_id]
    assert program.run("select", select.body, arguments) == EXIT_DONE
    facts = program.read_result(build.blobs, OWNER, build.build_id, "select")["facts"]
    assert (facts["branch"], facts["bundle"]) == ("lite1", two.hash)
    assert [row["branch"] for row in facts["leaderboard"]] == ["lite1", "lite0"]
    build.blobs.download_folder(keys.bundle(OWNER, two.hash), tmp_path / "stored")
    assert bundles.read(tmp_path / "stored").hash == two.hash
    assert program.run("select", select.body, arguments) == EXIT_DONE
    again = program.read_result(build.blobs, OWNER, build.build_id, "select")["facts"]
    assert {**again, "seconds": 0} == {**facts, "seconds": 0}


def test_the_standard_error_rests_on_the_samples_that_were_validated(
    build: SmallBuild, tmp_path: Path
) -> None:
    one = write_bundle(tmp_path / "one", COLOURS)
    build.start("manual__worst", objective="worst_class_recall")
    build.plan([{"key": "lite0", "size": 224}])
    validation = {"worst_class_recall": 0.9, "macro_log_loss": 0.2}
    build.trial(0, "lite0", one.folder, validation=validation, support=6)
    assert program.run("select", select.body, ["--build", build.build_id]) == EXIT_DONE
    row = program.read_result(build.blobs, OWNER, build.build_id, "select")["facts"]["leaderboard"][
        0
    ]
    share = (0.9 * 6 + 1) / 8
    assert row["standard_error"] == pytest.approx((share * (1 - share) / 8) ** 0.5)


def test_a_winner_that_learnt_nothing_is_named(build: SmallBuild, tmp_path: Path) -> None:
    one = write_bundle(tmp_path / "one", COLOURS)
    build.plan([{"key": "lite0", "size": 224}])
    build.trial(0, "lite0", one.folder, validation={"accuracy": 0.0, "log_loss": 9.0})
    assert program.run("select", select.body, ["--build", build.build_id]) == EXIT_DONE
    facts = program.read_result(build.blobs, OWNER, build.build_id, "select")["facts"]
    assert "learnt anything" in facts["summary"] and "learnt anything" in facts["reason"]


def test_without_a_result_the_step_ends_as_bad_input(build: SmallBuild) -> None:
    build.plan([{"key": "lite0"}])
    assert program.run("select", select.body, ["--build", build.build_id]) == EXIT_BAD_INPUT


def test_a_bundle_that_is_not_what_its_trial_said_is_not_stored(
    build: SmallBuild, tmp_path: Path
) -> None:
    one, two = (write_bundle(tmp_path / f"{s}", COLOURS, sharpness=s) for s in (2.0, 8.0))
    build.plan([{"key": "lite0", "size": 224}])
    build.trial(0, "lite0", one.folder, bundle=two.hash)
    assert program.run("select", select.body, ["--build", build.build_id]) != EXIT_DONE
    assert not build.blobs.exists(keys.bundle(OWNER, two.hash))

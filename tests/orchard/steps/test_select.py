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
from tests.small_build import COLOURS, OWNER, SmallBuild, write_bundle


def contender(branch: str, score: float, parameters: int, **other: Any) -> Contender:
    values: dict[str, Any] = {"samples": 100, "cost": 224.0**2, "log_loss": 0.3, **other}
    return Contender(
        branch, branch.title(), "0" * 16, score, parameters=parameters, facts={}, **values
    )


def test_the_best_wins_where_the_lead_is_more_than_a_tie() -> None:
    winner, reason = choose([contender("small", 0.90, 10), contender("large", 0.92, 20)])
    assert winner.branch == "large"
    assert "best with 0.9200" in reason


def test_the_smaller_wins_a_tie_and_the_reason_says_so() -> None:
    winner, reason = choose([contender("large", 0.904, 20), contender("small", 0.90, 10)])
    assert winner.branch == "small"
    assert "smaller" in reason
    assert "0.9040" in reason


def test_many_samples_make_the_tie_narrower_than_its_limit() -> None:
    pair = [contender("large", 0.904, 20, samples=10**6), contender("small", 0.90, 10)]
    assert choose(pair)[0].branch == "large"


def test_of_equal_parameters_the_smaller_input_wins_a_tie() -> None:
    pair = [contender("a", 0.9, 3_412_000, cost=320.0**2), contender("b", 0.9, 3_409_000)]
    assert choose(pair)[0].branch == "b"


def test_of_equal_size_the_better_score_then_the_lower_loss_wins() -> None:
    assert choose([contender("a", 0.900, 10), contender("b", 0.901, 10)])[0].branch == "b"
    pair = [contender("a", 0.9, 10, log_loss=0.4), contender("b", 0.9, 10, log_loss=0.2)]
    assert choose(pair)[0].branch == "b"


def test_no_branch_is_refused_and_one_is_the_only() -> None:
    with pytest.raises(BadInput, match="No branch"):
        choose([])
    assert choose([contender("a", 0.5, 1)])[1] == "A is the only branch"


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(1, 10**7), st.integers(1, 10**6)),
        min_size=1,
        max_size=12,
    )
)
def test_the_winner_is_never_far_behind_nor_does_the_order_matter(
    rows: list[tuple[float, int, int]],
) -> None:
    every = [contender(f"b{i}", s, p, samples=n) for i, (s, p, n) in enumerate(rows)]
    winner, _ = choose(every)
    assert winner.score >= max(one.score for one in every) - LARGEST_TIE - 1e-9
    assert choose(every[::-1])[0] is winner
    table = leaderboard(every, winner)
    assert [row["score"] for row in table] == sorted((row["score"] for row in table), reverse=True)
    assert sum(row["winner"] for row in table) == 1


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
    for branch in ("lite0", "lite1"):
        build.out_of_fold(branch, one)
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
    build.trial(0, "lite0", one.folder, validation={"worst_class_recall": 0.9, "log_loss": 0.2})
    build.out_of_fold("lite0", one)
    assert program.run("select", select.body, ["--build", build.build_id]) == EXIT_DONE
    row = program.read_result(build.blobs, OWNER, build.build_id, "select")["facts"]["leaderboard"][
        0
    ]
    share = (0.9 * 6 + 1) / 8  # six samples a class
    assert row["standard_error"] == pytest.approx((share * (1 - share) / 8) ** 0.5)


def test_without_a_result_the_step_ends_as_bad_input(build: SmallBuild) -> None:
    build.plan([{"key": "lite0"}])
    assert program.run("select", select.body, ["--build", build.build_id]) == EXIT_BAD_INPUT


def test_a_bundle_that_is_not_what_its_trial_said_is_not_stored(
    build: SmallBuild, tmp_path: Path
) -> None:
    one, two = (write_bundle(tmp_path / f"{s}", COLOURS, sharpness=s) for s in (2.0, 8.0))
    build.plan([{"key": "lite0", "size": 224}])
    build.trial(0, "lite0", one.folder, bundle=two.hash)
    build.out_of_fold("lite0", one)
    assert program.run("select", select.body, ["--build", build.build_id]) != EXIT_DONE
    assert not build.blobs.exists(keys.bundle(OWNER, two.hash))

"""Select: the best branch of a build, and its bundle into the store of bundles.

    python -m orchard.steps.select --build ID

Where the task has a loss that ranks (classifiers: the log-loss after calibration), the lowest on
validation wins: on a few hundred samples the standard error of accuracy is about two points, more
than what sets good branches apart, while the log-loss also uses how sure each answer is. The figure
of the objective is the guard: a branch more than one standard error behind the best of it is out.
Without such a loss the figure itself ranks. Branches within `LARGEST_TIE` of the best loss, or
`FIGURE_TIE` of the best figure, are as good as equal: of those the smallest model wins.
"""

from __future__ import annotations

import logging
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchard import bundle as bundles
from orchard import program
from orchard.blobs import keys
from orchard.errors import BadInput
from orchard.program import Step
from orchard.tasks import Task
from orchard.tasks import task as task_of

logger = logging.getLogger(__name__)

ROUNDING = 1e-9
LARGEST_TIE = 0.01
"""A difference of log-loss (natural logarithm) that counts as none: the truth gets 1 % more or less
of the probability."""
FIGURE_TIE = 0.002
NOTHING = 0.01
"""A winner whose figure is below that has learnt nothing, and the step says so."""
LOG_LOSS, SHORTFALL = "log-loss", "distance to 1"


@dataclass(frozen=True)
class Contender:
    """What a trial says about its branch.

    Attributes:
        score: the validation figure of the objective, 0 to 1.
        samples: how many samples the figure rests on.
        parameters: number of the model's parameters.
        cost: what an answer costs, for branches of equal parameters (megabytes of the graph's input).
        log_loss: of the calibrated scores on validation; each class counts the same where the
            objective is the worst class. For a task without one: what the score lacks to 1.
        loss_name: what a person calls that.
    """

    branch: str
    title: str
    bundle: str
    score: float
    samples: int
    parameters: int
    cost: float
    log_loss: float
    facts: Mapping[str, Any]
    loss_name: str = LOG_LOSS

    @property
    def tie(self) -> float:
        """A difference of the loss that counts as none."""
        return LARGEST_TIE if self.loss_name == LOG_LOSS else FIGURE_TIE

    @property
    def standard_error(self) -> float:
        """Of the score as a share of `samples`, with one hit and one miss added (Agresti–Coull)."""
        share = (self.score * self.samples + 1) / (self.samples + 2)
        return math.sqrt(share * (1 - share) / (self.samples + 2))

    @property
    def size(self) -> tuple[float, float]:
        """Order of smallness: parameters to two digits (heads hardly count), then the cost."""
        return float(f"{self.parameters:.1e}"), self.cost


def choose(contenders: Sequence[Contender]) -> tuple[Contender, str]:
    """The winner and the reason in words. Raises BadInput where there is none."""
    if not contenders:
        raise BadInput(
            "No branch has a result to choose from",
            way_out="Look at the logs of the trials, then clear them and run them again",
        )
    leader = min(contenders, key=lambda one: (-one.score, one.log_loss, one.branch))
    least = leader.score - leader.standard_error - ROUNDING
    sound = [one for one in contenders if one.score >= least]
    best = min(sound, key=lambda one: (one.log_loss, one.size, -one.score, one.branch))
    equal = [one for one in sound if one.log_loss <= best.log_loss + best.tie + ROUNDING]
    winner = min(equal, key=lambda one: (one.size, one.log_loss, -one.score, one.branch))
    return winner, _reason(contenders, sound, equal, best, winner)


def _reason(
    contenders: Sequence[Contender],
    sound: Sequence[Contender],
    equal: Sequence[Contender],
    best: Contender,
    winner: Contender,
) -> str:
    if len(contenders) == 1:
        return f"{winner.title} is the only branch"
    out = len(contenders) - len(sound)
    guard = f"; {out} more than one standard error behind in score left out" if out else ""
    if winner is best:
        also = f", {len(equal) - 1} other within {best.tie} but larger" if len(equal) > 1 else ""
        return (
            f"{winner.title} has the lowest {best.loss_name} with {winner.log_loss:.3f} "
            f"(score {winner.score:.4f}){also}{guard}"
        )
    return (
        f"{winner.title} has a {best.loss_name} of {winner.log_loss:.3f} (score {winner.score:.4f}), "
        f"{best.title} {best.log_loss:.3f}: within {best.tie} they count as equal, and it is "
        f"smaller{guard}"
    )


def contender(
    task: Task, branch: Mapping[str, Any], facts: Mapping[str, Any], objective: str
) -> Contender:
    """A branch of the plan with its trial's facts, as a contender for the objective.

    A task without a log-loss is ranked by what its score lacks to 1.
    """
    validation = facts["validation"]
    score = float(validation[task.figure_of(objective)])
    log_loss = validation.get(task.losses.get(objective, ""), 1 - score)
    return Contender(
        branch=str(facts["branch"]),
        title=str(facts.get("title", facts["branch"])),
        bundle=str(facts["bundle"]),
        score=score,
        samples=max(int(facts["support"]), 1),
        parameters=int(facts["parameters"]),
        cost=float(branch.get("pixels", 0)),
        log_loss=float(log_loss),
        facts=facts,
        loss_name=LOG_LOSS if objective in task.losses else SHORTFALL,
    )


def leaderboard(contenders: Sequence[Contender], winner: Contender) -> list[dict[str, Any]]:
    """All contenders as rows: the winner, then by log-loss, lowest first."""
    ranked = sorted(
        contenders, key=lambda one: (one is not winner, one.log_loss, one.size, one.branch)
    )
    return [
        {
            "branch": one.branch,
            "title": one.title,
            "score": one.score,
            "standard_error": one.standard_error,
            "log_loss": one.log_loss,
            "parameters": one.parameters,
            "megabytes": one.facts.get("megabytes"),
            "candidates": one.facts.get("candidates"),
            "seconds": one.facts.get("seconds"),
            "bundle": one.bundle,
            "winner": one is winner,
        }
        for one in ranked
    ]


def body(step: Step) -> dict[str, Any]:
    """Choose, copy the winner's bundle to its place, and say why."""
    plan = step.blobs.read_json(keys.plan(step.owner, step.build_id))
    objective = str(step.parameters["objective"])
    contenders = _contenders(step, plan, objective)
    winner, reason = choose(contenders)
    rows = leaderboard(contenders, winner)
    _log(rows, str(plan["figure"]), objective in task_of(str(plan["task"])).losses)
    _store_bundle(step, winner)
    warning = ""
    if winner.score < NOTHING:
        warning = (
            f"No branch has learnt anything: the best has {str(plan['figure']).replace('_', ' ')} "
            f"{winner.score:.3f} on validation. Do not put this model into service; bring more "
            "samples, or look whether the labels fit them"
        )
        logger.warning("%s", warning)
    return {
        "branch": winner.branch,
        "title": winner.title,
        "bundle": winner.bundle,
        "objective": objective,
        "score": winner.score,
        "leaderboard": rows,
        "reason": f"{reason}. {warning}" if warning else reason,
        "reproducible": all(one.facts.get("reproducible", True) for one in contenders),
        "mlflow_run_id": winner.facts.get("mlflow_run_id", ""),
        "tracking_url": winner.facts.get("tracking_url", ""),
        "summary": f"{warning or reason}; bundle {winner.bundle}",
    }


def _contenders(step: Step, plan: Mapping[str, Any], objective: str) -> list[Contender]:
    found = []
    task = task_of(str(plan["task"]))
    for index, branch in enumerate(plan["branches"]):
        record = program.read_result(step.blobs, step.owner, step.build_id, "trial", index)
        if record is None or record["exit_code"] != 0:
            logger.info("Branch %s has no result and takes no part", branch["key"])
            continue
        found.append(contender(task, branch, record["facts"], objective))
    return found


def _log(rows: Sequence[Mapping[str, Any]], figure: str, by_loss: bool) -> None:
    named = figure.replace("_", " ")
    order = "log-loss on validation, with " if by_loss else ""
    logger.info("Leaderboard by %s%s:", order, named)
    for rank, row in enumerate(rows, 1):
        logger.info(
            "%s %d. %s%.4f ± %.4f  %s, %.2f million parameters",
            "→" if row["winner"] else " ",
            rank,
            f"log-loss {row['log_loss']:.4f}, " if by_loss else "",
            row["score"],
            row["standard_error"],
            row["title"],
            row["parameters"] / 1e6,
        )


def _store_bundle(step: Step, winner: Contender) -> None:
    with tempfile.TemporaryDirectory(prefix="orchard-select-") as temporary:
        folder = Path(temporary) / "bundle"
        key = f"{keys.trial(step.owner, step.build_id, winner.branch)}/bundle"
        step.blobs.download_folder(key, folder)
        bundles.read(folder, winner.bundle)
        step.blobs.upload_folder(folder, keys.bundle(step.owner, winner.bundle))


if __name__ == "__main__":
    sys.exit(program.run("select", body))

"""Arguments, output and exit codes of the command line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from orchard.cli import verbs
from orchard.errors import EXIT_BAD_INPUT, EXIT_DONE, OrchardError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb. Returns 0 (done), 64 (bad input), 75 (try again) or 1 (a fault)."""
    given = parser().parse_args(arguments)
    try:
        value = given.verb(given)
    except OrchardError as error:
        _complain(given, error)
        return error.exit_code
    except KeyboardInterrupt:
        print("Interrupted; what was started goes on", file=sys.stderr)
        return 130
    if given.json:
        print(json.dumps(value, indent=1, ensure_ascii=False, default=str))
    return EXIT_DONE


class _Parser(argparse.ArgumentParser):
    """Ends with the exit code of bad input where arguments are wrong."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_BAD_INPUT, f"Error: {message}\n")


def parser() -> argparse.ArgumentParser:
    """All verbs with their help."""
    top = _Parser(
        prog="python -m orchard",
        description="From labelled samples to an answering endpoint.",
        epilog="Exit codes: 0 done, 64 bad input, 75 try again, 1 a fault.",
    )
    shared = _Parser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print the result as JSON, for scripts")
    listed = top.add_subparsers(dest="name", required=True, metavar="VERB")

    def verb(name: str, call: Any, text: str) -> argparse.ArgumentParser:
        made = listed.add_parser(name, parents=[shared], help=text, description=text)
        made.set_defaults(verb=call)
        return made

    verb("up", verbs.up, "start what is not running and print the addresses")
    verb("down", verbs.down, "end every process of this installation")
    verb("status", verbs.status, "say what is up, what is down and why")
    verb("clean", verbs.clean, "end everything and remove all state: a full reset")

    demo = verb("demo", verbs.demo, "build a model from the keyboard example and ask it")
    demo.add_argument("--count", type=int, default=120, help="pictures a class (120)")
    demo.add_argument("--minutes", type=int, default=2, help="search budget (2)")

    importing = verb("import", verbs.import_data, "bring data to a project for its next build")
    importing.add_argument("data", help="a folder or an archive")
    importing.add_argument("project", help="name of the project")
    importing.add_argument("--task", default=None, help="task of a new project")

    train = verb("train", verbs.train, "build a model: import, trigger the DAG, watch it")
    train.add_argument("data", help="a folder, an archive, an address, or `newest`")
    train.add_argument("project", help="name of the project")
    train.add_argument("--task", default=None, help="task of a new project")
    train.add_argument("--minutes", type=int, default=5, help="search budget, 1 to 240 (5)")
    train.add_argument(
        "--objective", default="accuracy", help="accuracy (default) or worst_class_recall"
    )
    train.add_argument(
        "--floor",
        type=float,
        default=None,
        help="approve by itself at this share or above, 0 to 1; without it a person is asked",
    )
    train.add_argument("--approve", action="store_true", help="answer the question with yes")
    train.add_argument("--endpoint", default=None, help="name in the service's address")

    predict = verb("predict", verbs.predict, "ask an endpoint about a sample")
    predict.add_argument("endpoint")
    predict.add_argument("sample", help="a file")

    report = verb("report", verbs.report, "figures of a project's last published build")
    report.add_argument("project")

    rollback = verb("rollback", verbs.rollback, "bring back the model that was live before")
    rollback.add_argument("endpoint")

    export = verb("export", verbs.export, "write the live model to a folder or a .zip file")
    export.add_argument("endpoint")
    export.add_argument("goal", help="a new folder, or a file ending in .zip")

    token = verb("token", verbs.token, "make a new token for an endpoint; the old ones end")
    token.add_argument("endpoint")

    retrain = verb("retrain", verbs.retrain, "have a project retrained by itself, or not any more")
    retrain.add_argument("project")
    retrain.add_argument("--cron", default=None, help="a cron expression in UTC, '0 3 * * *'")
    retrain.add_argument("--samples", type=int, default=None, help="least number of new samples")
    retrain.add_argument(
        "--margin", type=float, default=0.005, help="how much better it must be, a share (0.005)"
    )
    retrain.add_argument("--off", action="store_true", help="switch it off")
    return top


def _complain(given: argparse.Namespace, error: OrchardError) -> None:
    if given.json:
        told = {"error": error.headline, "value": error.value, "way_out": error.way_out}
        print(json.dumps(told, ensure_ascii=False, default=str))
    else:
        print(f"Error: {error.headline}", file=sys.stderr)
        if error.value is not None:
            print(f"  value: {error.value}", file=sys.stderr)
        if error.way_out:
            print(f"  {error.way_out}", file=sys.stderr)

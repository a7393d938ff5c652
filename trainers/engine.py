"""Prepares this process for Paddle; import it before `paddle`.

Paddle's libraries read their settings from the environment when they are loaded, so this module
sets them and then imports Paddle itself. It leaves alone what the caller has set.
"""

from __future__ import annotations

import logging
import os
import random
import sys
import warnings
from pathlib import Path

import numpy as np


def _is_amd(cpu_facts: Path = Path("/proc/cpuinfo")) -> bool:
    try:
        return "AuthenticAMD" in cpu_facts.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _prepare_environment() -> None:
    if _is_amd():
        # MKL takes a slow path on processors of other makers unless told which kernels to use.
        os.environ.setdefault("MKL_DEBUG_CPU_TYPE", "5")


if "paddle" not in sys.modules:
    _prepare_environment()

_root = logging.getLogger()
_handlers, _level = list(_root.handlers), _root.level
with warnings.catch_warnings():
    # Paddle advises a compiler cache for extensions, which nothing here builds.
    warnings.filterwarnings("ignore", message="No ccache found")
    import paddle
# Paddle's import adds a handler of its own to the root logger, and every line would come twice.
_root.handlers[:] = _handlers
_root.setLevel(_level)
# Nor should a job that is told to end print a C++ traceback.
paddle.disable_signal_handler()

__all__ = ["paddle", "seed_everything", "set_threads"]


def set_threads(threads: int) -> None:
    """Let Paddle compute with that many threads (at least 1)."""
    paddle.base.core.set_num_threads(max(1, threads))


def seed_everything(seed: int) -> None:
    """Start the random numbers of Python, numpy and Paddle at `seed`."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    paddle.seed(seed)

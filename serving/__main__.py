"""`python -m serving`: the prediction service, until SIGTERM."""

from __future__ import annotations

import logging
import sys

from orchard.errors import EXIT_DONE, OrchardError
from orchard.settings import settings
from serving.log import set_up_log
from serving.supervisor import Supervisor

logger = logging.getLogger("serving")


def main() -> int:
    """Run the service. Returns the exit code."""
    set_up_log()
    given = settings()
    given.serving_root.mkdir(parents=True, exist_ok=True)
    try:
        supervisor = Supervisor(given.service_host, given.service_port, given.service_processes)
    except OrchardError as error:
        logger.error("%s", error)
        return error.exit_code
    logger.info(
        "The service listens on http://%s:%d with %d processes and reads %s",
        given.service_host,
        supervisor.port,
        given.service_processes,
        given.serving_root,
    )
    supervisor.run()
    logger.info("The service has ended")
    return EXIT_DONE


if __name__ == "__main__":
    sys.exit(main())

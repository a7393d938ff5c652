"""LitServe: a worker a core, batches, and its faster queue, as its guide advises for CPUs.

`python -m bench.peers.lit_server PORT`. The guide's image example takes base64 in JSON; so does
this. "For CPU, set workers_per_device to the number of cores"; `fast_queue` is for more than 100
requests a second; HTTP servers are as many as workers, its default. LitServe reads annotations at run
time, so they are not put off here.
"""

import sys
from typing import Any

import litserve
import numpy as np
from numpy.typing import NDArray

from bench.peers.classifier import BATCH, WORKERS, from_environment, number, prepared_base64

BATCH_TIMEOUT_SECONDS = 0.005


class ClassifierAPI(litserve.LitAPI):  # type: ignore[misc]
    """{"image": base64} → {"scores": [K numbers]}."""

    def setup(self, device: str) -> None:
        self.classifier = from_environment()

    def decode_request(self, request: dict[str, Any]) -> NDArray[np.float32]:
        return prepared_base64(request["image"])

    def predict(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        if inputs.ndim == 3:  # batches are off
            return self.classifier([inputs])[0]
        return self.classifier(list(inputs))

    def encode_response(self, output: NDArray[np.float32]) -> dict[str, Any]:
        return {"scores": output.tolist()}


def main() -> None:
    """Serve until SIGTERM."""
    batch = number(BATCH)
    timeout = BATCH_TIMEOUT_SECONDS if batch > 1 else 0.0
    server = litserve.LitServer(
        ClassifierAPI(max_batch_size=batch, batch_timeout=timeout),
        accelerator="cpu",
        workers_per_device=number(WORKERS),
        fast_queue=True,
    )
    server.run(
        host="127.0.0.1",
        port=int(sys.argv[1]),
        generate_client_file=False,
        log_level="warning",
    )


if __name__ == "__main__":
    main()

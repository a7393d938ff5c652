"""Prometheus metrics of all worker processes together.

The client library shares its values through files in the folder that PROMETHEUS_MULTIPROC_DIR
names, which the worker sets before this module is imported. Labels take names of endpoints that
exist only, so that their number is bounded.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

REQUESTS = Counter(
    "orchard_service_requests", "Prediction requests.", ["endpoint", "status", "code"]
)
SECONDS = Histogram(
    "orchard_service_request_seconds",
    "From the request's head to the answer.",
    ["endpoint"],
    buckets=(0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10),
)
BATCH = Histogram(
    "orchard_service_batch_size", "Requests that ran together.", buckets=(1, 2, 3, 4, 6, 8, 16)
)
IN_FLIGHT = Gauge(
    "orchard_service_in_flight", "Requests that are being answered.", multiprocess_mode="livesum"
)


def exposition() -> bytes:
    """All processes' metrics in Prometheus' text format."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)

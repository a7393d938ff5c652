"""Connected components of a bounded number of edges, by union–find."""

from __future__ import annotations

from collections.abc import Iterable


def components(edges: Iterable[tuple[str, str]]) -> dict[str, str]:
    """For each node the smallest node that it is connected with."""
    parent: dict[str, str] = {}

    def root(node: str) -> str:
        top = node
        while parent.setdefault(top, top) != top:
            top = parent[top]
        while parent[node] != top:
            parent[node], node = top, parent[node]
        return top

    for one, other in edges:
        low, high = sorted((root(one), root(other)))
        parent[high] = low
    return {node: root(node) for node in list(parent)}

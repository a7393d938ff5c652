"""Fetching an archive over http or https: only from public addresses, with limits.

The address that a host name resolves to is judged and then connected to as it is, so that a name
that resolves differently the second time gains nothing. Redirects are judged alike.
"""

from __future__ import annotations

import http.client
import ipaddress
import re
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from orchard.errors import BadInput, OrchardError, TryAgain
from orchard.program import Progress
from orchard.sources.base import CHUNK, Limits

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Allowed = Callable[[Address], bool]

CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0
TOTAL_SECONDS = 6 * 3600.0
_REDIRECTS = 5
_TRANSLATED = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("2002::/16"))


def is_public(address: Address) -> bool:
    """Whether an address lies in the public internet: not private, loopback, link-local, …."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if any(address in network for network in _TRANSLATED):
            return False
    return address.is_global and not address.is_multicast


def download(url: str, limits: Limits, workspace: Path, allowed: Allowed = is_public) -> Path:
    """Fetch an archive to the disk and return its path.

    Args:
        url: http or https, without a login.
        allowed: says which addresses may be connected to.

    Raises:
        BadInput: the address is not allowed, does not exist, or sends too much.
        TryAgain: the server does not answer or has a fault of its own.
    """
    for _ in range(_REDIRECTS + 1):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise BadInput("This address cannot be fetched", value=_shown(url))
        connection = _Connection(parts, allowed)
        try:
            response = connection.get(_target(parts))
            if response.status in (301, 302, 303, 307, 308) and response.getheader("Location"):
                url = urljoin(url, str(response.getheader("Location")))
                continue
            _check_status(response, url)
            goal = workspace / f"fetched-{_file_name(parts)}"
            _copy(response, goal, limits, url)
            return goal
        except OrchardError:
            raise
        except (OSError, http.client.HTTPException) as error:
            raise TryAgain(f"The address could not be read: {error}", value=_shown(url)) from error
        finally:
            connection.close()
    raise BadInput("The address leads from one to the next without an end", value=_shown(url))


class _Connection:
    """One connection to a judged address."""

    def __init__(self, parts: SplitResult, allowed: Allowed) -> None:
        self._parts = parts
        try:
            self._port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError as error:
            raise BadInput("The port is no port", value=_shown(parts.geturl())) from error
        self._address = _resolve(str(parts.hostname), self._port, allowed)
        self._http = http.client.HTTPConnection(str(parts.hostname), self._port)

    def get(self, target: str) -> http.client.HTTPResponse:
        """Send the request and read the head of the answer."""
        plain = socket.create_connection((str(self._address), self._port), CONNECT_SECONDS)
        plain.settimeout(READ_SECONDS)
        if self._parts.scheme == "https":
            context = ssl.create_default_context()
            self._http.sock = context.wrap_socket(plain, server_hostname=self._parts.hostname)
        else:
            self._http.sock = plain
        headers = {"Accept-Encoding": "identity", "User-Agent": "orchard-import"}
        self._http.request("GET", target, headers=headers)
        return self._http.getresponse()

    def close(self) -> None:
        self._http.close()


def _resolve(host: str, port: int, allowed: Allowed) -> Address:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise TryAgain(f"The host name could not be resolved: {error}", value=host) from error
    addresses = [ipaddress.ip_address(str(each[4][0]).split("%")[0]) for each in found]
    for address in addresses:
        if not allowed(address):
            raise BadInput(
                "This host lies in a private network, from which nothing is fetched",
                value=host,
                way_out="Put the archive below an import folder",
            )
    return addresses[0]


def _check_status(response: http.client.HTTPResponse, url: str) -> None:
    if response.status == 200:
        return
    text = f"The server answered {response.status} {response.reason}"
    if response.status in (408, 425, 429) or response.status >= 500:
        raise TryAgain(text, value=_shown(url))
    raise BadInput(text, value=_shown(url), way_out="Look at the address in a browser")


def _copy(response: http.client.HTTPResponse, goal: Path, limits: Limits, url: str) -> None:
    length = response.length
    progress = Progress("bytes fetched", length)
    started = time.monotonic()
    with goal.open("wb") as copy:
        while True:
            if max(progress.done, length or 0) > limits.archive_bytes:
                raise BadInput(
                    "The address sends more than is allowed",
                    value=f"{_shown(url)}: at most {limits.archive_bytes:,} bytes",
                    way_out="Raise the setting maximum_archive_bytes",
                )
            if time.monotonic() - started > TOTAL_SECONDS:
                raise TryAgain("The address sends too slowly", value=_shown(url))
            chunk = response.read1(CHUNK)
            if not chunk:
                break
            copy.write(chunk)
            progress.advance(len(chunk))
    if length is not None and progress.done != length:
        raise TryAgain("The connection ended too early", value=_shown(url))


def _target(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _file_name(parts: SplitResult) -> str:
    leaf = unquote(parts.path).rsplit("/", 1)[-1]
    return re.sub(r"[^\w.-]+", "_", leaf)[-80:] or "archive"


def _shown(url: str) -> str:
    """The address without its query, which may hold a secret, and without a login."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

"""Documents over TLS: what a connection string says is enough, and a wrong authority is refused."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from orchard.catalog import connection, projects
from orchard.catalog.connection import documents
from orchard.errors import TryAgain


def write_certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 that is its own authority, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "documents")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    (folder / "authority.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return path


def pump(source: socket.socket, goal: socket.socket) -> None:
    """Pass on what comes until one of the two ends."""
    try:
        while payload := source.recv(65536):
            goal.sendall(payload)
    except OSError:
        pass
    finally:
        for each in (source, goal):
            each.close()


@pytest.fixture
def encrypted(documents_server: str, tmp_path: Path) -> Iterator[str]:
    """host:port of the documents server behind TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(write_certificate(tmp_path))
    listener = socket.create_server(("127.0.0.1", 0))
    behind = int(documents_server.rpartition(":")[2])

    def serve() -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            try:
                client = context.wrap_socket(plain, server_side=True)
            except OSError:
                plain.close()
                continue
            server = socket.create_connection(("127.0.0.1", behind))
            for ends in ((client, server), (server, client)):
                threading.Thread(target=pump, args=ends, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield f"127.0.0.1:{listener.getsockname()[1]}"
    listener.close()


def test_documents_go_over_tls_by_options_of_the_address(
    encrypted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = f"tls=true&tlsCAFile={tmp_path / 'authority.pem'}"
    name = f"test_{uuid.uuid4().hex[:12]}"
    store = documents(f"mongodb://{encrypted}/?{authority}", name)
    made = projects.ensure(store, "ann", "keys", "image_classification")
    assert projects.get(store, "ann", "keys") == made
    store.client.drop_database(name)

    monkeypatch.setattr(connection, "_WAIT_MILLISECONDS", 1500)
    for options in ("tls=true", "tls=false"):
        with pytest.raises(TryAgain, match="does not answer"):
            projects.ensure(documents(f"mongodb://{encrypted}/?{options}", name), "ann", "a", "x")

"""A certificate of the console's own, for pages on other machines: made by openssl, kept in the user's folder."""

from __future__ import annotations

import hashlib
import ipaddress
import os
import ssl
import subprocess
from pathlib import Path
from typing import NamedTuple

from granite.config.errors import InputError

#: for how long it is good [days]: some browsers refuse more than 825
_DAYS = 397
_LEFT_S = 7 * 86400


class Certificate(NamedTuple):
    """Certificate and key in files, and what the browser shows of it."""

    file: Path
    key: Path
    fingerprint: str  #: SHA-256, as browsers show it


def own_certificate(folder: Path, host: str) -> Certificate:
    """The certificate for an address of this machine: the one in the folder, or a new one.

    Raises
    ------
    InputError
        Where openssl is not installed or fails.
    """
    file, key = folder / f"console-{host}.crt", folder / f"console-{host}.key"
    if not _is_good(file, key):
        for old in (file, key):
            old.unlink(missing_ok=True)
        _make(file, key, host)
    der = ssl.PEM_cert_to_DER_cert(file.read_text())
    digest = hashlib.sha256(der).hexdigest().upper()
    return Certificate(file, key, ":".join(digest[i : i + 2] for i in range(0, len(digest), 2)))


def _is_good(file: Path, key: Path) -> bool:
    check = ["openssl", "x509", "-checkend", str(_LEFT_S), "-noout", "-in", str(file)]
    return file.exists() and key.exists() and _openssl(check).returncode == 0


def _make(file: Path, key: Path, host: str) -> None:
    try:
        ipaddress.ip_address(host)
        name = f"IP:{host}"
    except ValueError:
        name = f"DNS:{host}"
    subject = ["-subj", "/CN=granite console", "-addext", f"subjectAltName={name}"]
    before = os.umask(0o077)
    try:
        kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", str(_DAYS)]
        done = _openssl(["openssl", "req", *kind, *subject, "-keyout", str(key), "-out", str(file)])
    finally:
        os.umask(before)
    if done.returncode:
        raise InputError(f"openssl made no certificate: {done.stderr.strip().splitlines()[-1:]}")


def _openssl(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        raise InputError("openssl can't be run", key="--host", expected="it, to make a certificate") from None

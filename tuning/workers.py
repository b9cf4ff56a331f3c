"""Where the runs of a study are made: in local processes, or on a Dask cluster; the study is the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from granite.config.errors import GraniteError, InputError
from granite.config.optional_packages import required
from granite.tuning.worker_processes import ATTEMPTS, Answer, Workers, local_workers

#: how long a scheduler may take to answer, and how long the process that asks it may take to start [s]
_PATIENCE_S, _START_S = 10.0, 20.0
#: A client that does not reach its scheduler waits without end where the connection is accepted, and leaves tracebacks
#: behind where the address is none. So it is tried in a process that can be ended.
_PROBE = """
import os, sys
try:
    import distributed
    distributed.Client(sys.argv[1], timeout=float(sys.argv[2]))
    os._exit(0)
except Exception as error:
    print(error, flush=True)
    os._exit(1)
"""


@contextmanager
def workers(processes: int | None = None, dask: str | None = None) -> Iterator[Workers]:
    """Local processes, or the workers of a Dask scheduler at an address."""
    if dask is None:
        with local_workers(processes) as local:
            yield local
    else:
        with _cluster(dask) as cluster:
            yield cluster


class _DaskCluster:
    """The workers of a Dask scheduler: runs of a worker that is lost are given to another one by the scheduler."""

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._address = address

    def answers(self, work: Callable[[Any], Answer], cases: Sequence[Any]) -> Iterator[Answer]:
        """All at once."""
        futures = self._client.map(work, list(cases), pure=False, retries=ATTEMPTS)
        try:
            for future in futures:
                yield future.result()
        except (GraniteError, KeyboardInterrupt):
            raise
        except Exception as error:
            raise GraniteError(
                f"the Dask cluster at '{self._address}' did not make the runs, {type(error).__name__}: {error}"
            ) from error
        finally:
            self._client.cancel(futures)


@contextmanager
def _cluster(address: str) -> Iterator[_DaskCluster]:
    distributed = required("distributed", "dask")
    _refuse_silent(address)
    client = distributed.Client(address, timeout=_PATIENCE_S, set_as_default=False)
    try:
        if not client.scheduler_info()["workers"]:
            expected = f"at least one: dask worker {address} --nthreads 1"
            raise InputError("the Dask scheduler has no workers", key="--dask", value=address, expected=expected)
        yield _DaskCluster(client, address)
    finally:
        client.close()


def _refuse_silent(address: str) -> None:
    """Raise where no scheduler answers at an address."""
    command = [sys.executable, "-c", _PROBE, address, str(_PATIENCE_S)]
    limit = _START_S + _PATIENCE_S
    try:
        probe = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        if probe.returncode == 0:
            return
        words = " ".join(probe.stdout.split())[:120]
    except subprocess.TimeoutExpired:
        words = "the connection is accepted, and nothing is said"
    problem = f"no Dask scheduler answers within {_PATIENCE_S:g} s ({words})"
    raise InputError(problem, key="--dask", value=address, expected="an address such as tcp://host:8786")

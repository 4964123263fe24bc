"""One chain of a program compiled by httpstan, as a process of its own: `_pystan_chain N`.

It runs in the private folder of a fit, reads what `pystan` wrote there, and leaves N.npz and
N.log. A process for each chain keeps Stan's prints, its threads and an interrupt out of the
caller's process, and no draw reaches httpstan's cache of fits.
"""

from __future__ import annotations

import importlib.util
import json
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["load_module", "main"]


def load_module(path: str | Path) -> Any:
    """The compiled program as a Python module."""
    spec = importlib.util.spec_from_file_location("stan_services", path)
    if spec is None or spec.loader is None:
        raise ImportError("The compiled Stan program cannot be loaded.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(chain: str) -> int:
    """0 when the chain finished; otherwise Stan's words are in the log."""
    job = json.loads(Path("job.json").read_text())
    with np.load("data.npz") as stored:
        data = {name: _plain(stored[name]) for name in stored.files}
    with np.load(f"initial{chain}.npz") as stored:
        initial = {name: _plain(stored[name]) for name in stored.files}
    module = load_module(job["module"])
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(f"{chain}.sock")
    listener.listen(4)  # three writers and a logger
    names: list[str] = []
    rows: list[list[float]] = []
    readers = []
    with open(f"{chain}.log", "w", buffering=1) as log:

        def accept() -> None:
            for _ in range(4):
                connection, _ = listener.accept()
                reader = threading.Thread(target=_read, args=(connection, names, rows, log))
                reader.start()
                readers.append(reader)

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        began = time.time()
        try:
            code = module.hmc_nuts_diag_e_adapt_wrapper(
                f"{chain}.sock", data=data, init=initial, chain=int(chain), **job["arguments"]
            )
        except Exception as error:
            print(error, file=log)
            return 1
        ended = time.time()
        accepting.join()
        for reader in readers:
            reader.join()
    if code == 0:
        np.savez(f"{chain}.npz", names=np.array(names), values=np.array(rows), times=[began, ended])
    return int(code)


def _read(connection: socket.socket, names: list[str], rows: list[list[float]], log: Any) -> None:
    """Sort one connection's messages into draws and console text."""
    with connection, connection.makefile("r", encoding="utf-8") as lines:
        for line in lines:
            message = json.loads(line)
            values = message["values"]
            if message["topic"] == "sample" and isinstance(values, dict):
                names[:] = values
                rows.append([float(value) for value in values.values()])
            elif message["topic"] == "logger":
                print(*values, file=log)


def _plain(array: Any) -> Any:
    """Arrays as they are, zero-dimensional ones as Python numbers."""
    return array if array.ndim else array.item()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

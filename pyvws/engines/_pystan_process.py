"""Runs httpstan in processes of its own: Stan's prints and threads, and an interrupt, stay out of
the caller's process, and no draw reaches httpstan's cache of fits.

`_pystan_process build PROGRAM FOLDER` compiles a program to FOLDER/model.so.
`_pystan_process chain N` runs in the private folder of a fit, reads the files that `pystan` wrote
there, and leaves N.npz and N.log.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray


def load_module(path: str | Path) -> Any:
    """The compiled program as a Python module."""
    spec = importlib.util.spec_from_file_location("stan_services", path)
    if spec is None or spec.loader is None:
        raise ImportError("The compiled Stan program cannot be loaded.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(program: str, folder: str) -> int:
    """Compile a program into FOLDER/model.so: 0, or 1 where it does not compile."""
    target = Path(folder)
    os.environ["XDG_CACHE_HOME"] = str(target / "build")
    for name in ("CFLAGS", "CXXFLAGS"):
        os.environ[name] = f"{os.environ.get(name, '')} -g0"
    from httpstan import cache, models

    text = Path(program).read_text(encoding="utf-8")
    name = models.calculate_model_name(text)
    try:
        asyncio.run(models.build_services_extension_module(text))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    built = [path for path in cache.model_directory(name).iterdir() if path.suffix == ".so"]
    shutil.move(built[0], target / "model.so")
    shutil.rmtree(cache.model_directory(name), ignore_errors=True)
    shutil.rmtree(target / "build", ignore_errors=True)
    return 0


def chain(number: str) -> int:
    """Run one chain: 0 when the chain finished; otherwise the log holds Stan's words."""
    job = json.loads(Path("job.json").read_text())
    with np.load("data.npz") as stored:
        data = {name: _plain(stored[name]) for name in stored.files}
    with np.load(f"initial{number}.npz") as stored:
        initial = {name: _plain(stored[name]) for name in stored.files}
    module = load_module(job["module"])
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(f"{number}.sock")
    listener.listen(4)  # three writers and a logger
    names: list[str] = []
    rows: list[list[float]] = []
    readers = []
    with open(f"{number}.log", "w", buffering=1) as log:

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
                f"{number}.sock", data=data, init=initial, chain=int(number), **job["arguments"]
            )
        except Exception as error:
            print(error, file=log)
            return 1
        ended = time.time()
        accepting.join()
        for reader in readers:
            reader.join()
    if code == 0:
        np.savez(
            f"{number}.npz", names=np.array(names), values=np.array(rows), times=[began, ended]
        )
    return int(code)


def _read(
    connection: socket.socket, names: list[str], rows: list[list[float]], log: TextIO
) -> None:
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


def _plain(array: NDArray[Any]) -> Any:
    """Arrays as they are, zero-dimensional ones as Python numbers."""
    return array if array.ndim else array.item()


if __name__ == "__main__":
    sys.exit(build(*sys.argv[2:]) if sys.argv[1] == "build" else chain(sys.argv[2]))

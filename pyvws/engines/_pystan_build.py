"""Compile one Stan program with httpstan, as a process of its own: `_pystan_build PROGRAM FOLDER`.

httpstan keeps its builds in a cache of its own; the compiled module is moved out of it to
FOLDER/model.so and the rest is removed.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

__all__ = ["main"]


def main(program: str, folder: str) -> int:
    """0 when FOLDER/model.so is written, 1 when the program does not compile."""
    target = Path(folder)
    os.environ["XDG_CACHE_HOME"] = str(target / "build")
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


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

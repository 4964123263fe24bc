"""Other posterior draws in every process: samplers get their seed plus PYVWS_TEST_SEED_SHIFT.

Python imports this file at its start where this folder is on PYTHONPATH. `tools/other_machines.py`
puts it there.
"""

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_SAMPLERS = tuple(f"pyvws.engines.{name}" for name in ("stan_run", "nuts"))
_SHIFT = int(os.environ.get("PYVWS_TEST_SEED_SHIFT", "0"))


def _shifted(function: Any, name: str | None) -> Any:
    """`function` with its seed, the only argument or the one called `name`, moved by the shift."""

    def other(*arguments: Any, **named: Any) -> Any:
        if name is None:
            return function(arguments[0] + _SHIFT)
        return function(*arguments, **{**named, name: named[name] + _SHIFT})

    return other


def _change(module: ModuleType) -> None:
    if module.__name__ == "pyvws.engines.stan_run":
        module.stan_seed = _shifted(module.stan_seed, None)  # type: ignore[attr-defined]
        return
    module.sample_joint = _shifted(module.sample_joint, "seed")  # type: ignore[attr-defined]
    made = module.NativeEngine  # type: ignore[attr-defined]
    made.sample = _shifted(made.sample, "seed")


class _AfterImport:
    """Finds the samplers' modules, and changes each once it has been imported."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in _SAMPLERS:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_change(module: ModuleType) -> None:
            execute(module)
            _change(module)

        spec.loader.exec_module = execute_and_change  # type: ignore[method-assign]
        return spec


if _SHIFT:
    sys.meta_path.insert(0, _AfterImport)  # type: ignore[arg-type]

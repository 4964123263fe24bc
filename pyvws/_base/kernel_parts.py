"""What numba makes of a kernel that other kernels call: code to link into them, nothing that runs.

numba optimises each function and makes machine code of it, and does both again for each function
that calls it, with all that this one calls. For a kernel that only other kernels call, the first
time is lost. So numba leaves such a part as it comes from Python's code, and each kernel that calls
the part optimises both together. Numbers stay the same, since optimising keeps IEEE arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class PartCompiler(Compiler):
    """numba's compiler (its option `pipeline_class`) of functions that only compiled code calls."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        self.state.library = _Part(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class _Part(JITCodeLibrary):
    """A function's code and that of the functions it calls, for others to link."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """No address: there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return _NoMachineCode()


class _NoMachineCode:
    def set_env(self, _name: str, _environment: object) -> None:
        """Nothing to tell an environment to, which only code with Python objects would read."""

"""The compiled target is the density that it is made of, whatever the family, scale or bound."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from pyvws_validation._stan_case import CLAMPED, SAMPLED, seeded_target

from pyvws.engines.compiled_target import CompiledTarget, PackedArguments
from pyvws.models.sampled_scale import sampled_scale
from pyvws.posterior.clamp import Clamp

# Both do the same operations, in an order that a compiler may change.
_RTOL = 1e-9


def _called(compiled, z):
    """Result code, value, gradient and q of the C functions at z."""
    density = compiled.density.ctypes
    address = compiled.arguments.words.ctypes.data
    doubles = ctypes.POINTER(ctypes.c_double)
    gradient, value, q = np.empty(len(z)), np.empty(1), np.empty(len(z))
    at = [array.ctypes.data_as(doubles) for array in (z, gradient, value, q)]
    code = density(len(z), at[0], at[1], at[2], address)
    assert compiled.draw.ctypes(len(z), at[0], at[3], address) == 0
    return code, value[0], gradient, q


CASES = [(model, None) for model in SAMPLED]
CASES += [(model, Clamp(3.0, kind)) for model, kind in CLAMPED]


@pytest.mark.parametrize(("model", "clamp"), CASES)
def test_it_is_the_density_and_gradient_on_the_sampled_scale(model, clamp):
    target = seeded_target(model, 40, 2, seed=5)
    target = replace(target, clamp=clamp)
    scale = sampled_scale(target.start())
    compiled = CompiledTarget(target, scale)
    evaluate = target.density_and_gradient()
    restore, pull_back = scale.kernels
    for z in np.random.default_rng(3).normal(0.0, 0.5, (5, target.dimension)):
        q = np.empty(len(z))
        jacobian, state = restore(z, *scale.data, q)
        value, gradient = evaluate(q)
        pull_back(state, q, *scale.data, gradient)
        code, found, slope, point = _called(compiled, z)
        assert code == 0
        np.testing.assert_allclose(point, q, rtol=_RTOL)
        assert found == pytest.approx(value + jacobian, rel=_RTOL)
        np.testing.assert_allclose(slope, gradient, rtol=_RTOL, atol=_RTOL * abs(gradient).max())


@pytest.mark.parametrize("model", SAMPLED)
def test_where_it_is_not_finite_it_says_so(model):
    target = seeded_target(model, 40, 2, seed=5)
    compiled = CompiledTarget(target, sampled_scale(target.start()))
    assert _called(compiled, np.full(target.dimension, 1e300))[0] != 0
    assert _called(compiled, np.full(target.dimension, np.nan))[0] != 0


def test_arguments_are_packed_by_kind():
    packed = PackedArguments(((np.eye(2, 3), 4), (), (0.5, np.arange(3), np.float64(2))))
    assert packed.kinds == "f2,l;;d,i1,d"
    floats = packed.words.view(np.float64)
    assert list(packed.words[:5]) == [18, 9, 2, 3, 4]
    assert list(floats[[5, 8]]) == [0.5, 2.0]
    assert list(packed.words[6:8]) == [15, 3]
    assert list(floats[9:15]) == [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    assert list(packed.words[15:]) == [0, 1, 2]


def test_machine_code_of_two_targets_has_two_names():
    names = set()
    for model in ("poisson", "logistic"):
        target = seeded_target(model, 40, 2, seed=5)
        compiled = CompiledTarget(target, sampled_scale(target.start()))
        names |= {compiled.density.native_name, compiled.draw.native_name}
    # Read from disk into one process, equal names would be taken for each other.
    assert len({name.partition("B2v")[0] for name in names}) == 4

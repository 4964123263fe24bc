"""Processors are counted as this process may use them, and work on threads gives the same."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import threadpoolctl
from threadpoolctl import threadpool_info, threadpool_limits

from pyvws._base import cores as _cores
from pyvws._base.cores import one_core, share_out, steady_sums, usable_cores
from pyvws.engines import stan_run
from pyvws.engines.sampler_settings import SamplerSettings

_COUNT = "from pyvws._base.cores import usable_cores; print(usable_cores())"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux binds processes")
def test_a_process_bound_to_one_processor_counts_one():
    bound = f"import os; os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}}); {_COUNT}"
    for program, most in ((bound, 1), (_COUNT, len(os.sched_getaffinity(0)))):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        assert 1 <= int(done.stdout) <= most


def test_a_job_beside_others_has_one_processor_until_it_ends():
    free = usable_cores()
    with one_core():
        assert usable_cores() == 1
        with one_core():
            assert usable_cores() == 1
        assert usable_cores() == 1
    assert usable_cores() == free


def test_stan_s_chains_are_no_more_at_once_than_processors(tmp_path):
    program = (
        "import os, pathlib, time\n"
        "here = pathlib.Path(f'{os.getpid()}.running'); here.touch()\n"
        "count = len(list(pathlib.Path('.').glob('*.running')))\n"
        "pathlib.Path(f'{os.getpid()}.seen').write_text(str(count))\n"
        "time.sleep(0.1); here.unlink()\n"
    )
    settings = SamplerSettings(draws=4, warmup=100, chains=3)
    with one_core():
        codes = stan_run.run_chains(
            [[sys.executable, "-c", program]] * 3, tmp_path, settings, progress=None
        )
    assert codes == [0, 0, 0]
    assert [path.read_text() for path in tmp_path.glob("*.seen")] == ["1"] * 3


@pytest.mark.parametrize("cores", [1, 3])
def test_every_task_is_done_once(cores, monkeypatch):
    monkeypatch.setattr(_cores, "usable_cores", lambda: cores)
    done = np.zeros(1000, dtype=int)

    def work(at):
        done[at] += 1

    share_out(work, iter(range(1000)))
    assert (done == 1).all()
    share_out(work, iter([7]))
    assert done.sum() == 1001


def test_a_single_task_takes_no_thread():
    threads = []
    share_out(lambda _: threads.append(threading.current_thread()), iter([0]))
    assert threads == [threading.current_thread()]


@pytest.mark.parametrize("cores", [1, 3])
def test_an_error_ends_the_work_and_is_passed_on(cores, monkeypatch):
    monkeypatch.setattr(_cores, "usable_cores", lambda: cores)
    made = []

    def tasks():
        for at in range(1_000_000):
            made.append(at)
            yield at

    def work(at):
        if at == 10:
            raise ValueError("ten")

    before = threading.active_count()
    with pytest.raises(ValueError, match="ten"):
        share_out(work, tasks())
    assert len(made) < 1_000_000
    assert threading.active_count() <= before


def _threads() -> set[int]:
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_steady_sums_have_one_thread_until_the_last_block_ends():
    with threadpool_limits(3, user_api="blas"):
        with steady_sums():
            with steady_sums():
                assert _threads() == {1}
            assert _threads() == {1}
        assert _threads() == {3}


def test_steady_sums_look_for_libraries_again_once_more_modules_are_imported(monkeypatch):
    looked = []

    class Counted(threadpoolctl.ThreadpoolController):
        def __init__(self):
            looked.append(len(sys.modules))
            super().__init__()

    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", Counted)
    for name in ("one_more", "another"):
        monkeypatch.setitem(sys.modules, name, threadpoolctl)
        for _ in range(3):
            with steady_sums():
                pass
    assert len(looked) == 2

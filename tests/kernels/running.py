"""Where kernel tests run: on a GPU if Triton compiles here, else in its interpreter, made a little faster."""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from hypothesis import settings

from kvlab.kernels import checks
from kvlab.kernels.paged_decode import paged_decode_kernel
from tests.compute.reference import Paged

INTERPRETED = checks.is_interpreted(paged_decode_kernel)
DEVICE = "cpu" if INTERPRETED else "cuda"
TOLERANCE = {torch.float32: 2e-5, torch.float16: 4e-3}

QUICK = settings(max_examples=25, deadline=None, derandomize=True, database=None)


class Batch(Paged):
    """`Paged`, on the device that kernels run on."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for name in ("key_pool", "value_pool", "tables", "lengths"):
            setattr(self, name, getattr(self, name).to(DEVICE))

    def queries(self, counts, heads, seed=1):
        return tuple(found.to(DEVICE) for found in super().queries(counts, heads, seed))

    @property
    def pools(self):
        return self.key_pool, self.value_pool


def close(found, expected, dtype=torch.float32):
    """Equal up to what `dtype` can tell apart; -inf equals -inf, and NaN nothing."""
    tolerance = TOLERANCE[dtype]
    torch.testing.assert_close(found.float(), expected.float(), atol=tolerance, rtol=tolerance)


@contextmanager
def patched_once() -> Iterator[None]:
    """The interpreter replaces the functions of `tl` anew for each nested call, which takes longer than the call. Here
    they are replaced when a kernel starts and put back when it ends. Nothing else changes."""
    if not INTERPRETED:
        yield
        return
    import triton.language as tl  # not before kvlab, which decides whether it is to interpret
    from triton.runtime import interpreter

    patch, running = interpreter._patch_lang, []
    everything = types.SimpleNamespace(__globals__={"tl": tl, "core": tl.core})

    class Nested:
        def restore(self):
            pass

    def once(fn):
        if running:
            return Nested()
        scope = patch(everything)
        restore = scope.restore
        running.append(fn)

        def end():
            running.clear()
            restore()

        scope.restore = end
        return scope

    interpreter._patch_lang = once
    try:
        yield
    finally:
        interpreter._patch_lang = patch

"""Random requests on real memory of Linux, written and read back; every step is measured."""

from __future__ import annotations

import mmap
import sys

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kvlab.errors import OutOfPages
from kvlab.memory import VirtualCache
from kvlab.memory.linux_space import linux_addresses

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="this is the memory of Linux")
PAGE = mmap.PAGESIZE


class Memory(RuleBasedStateMachine):
    """Random requests on real memory, whose tokens are written and read back; every step is measured."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = VirtualCache(9, PAGE, [PAGE // 2, PAGE // 3], keep=True, backing=linux_addresses)
        self.tokens: dict[int, int] = {}

    @rule(request=st.integers(0, 2))
    def reserve(self, request: int) -> None:
        if request not in self.tokens:
            self.cache.reserve(request, 12)
            self.tokens[request] = 0

    @rule(request=st.integers(0, 2), more=st.integers(1, 8))
    def grow(self, request: int, more: int) -> None:
        have = self.tokens.get(request, 99)
        if have + more > 12:
            return
        before = self.cache.resident_bytes()
        try:
            self.cache.grow(request, have + more)
        except OutOfPages as refused:
            assert self.cache.resident_bytes() == before and refused.needed > refused.free
            return
        for token in range(have, have + more):
            for i, width in enumerate(self.cache.token_bytes):
                self.row(request, i, width)[token] = 16 * request + token + 1
        self.tokens[request] = have + more

    @rule(request=st.integers(0, 2))
    def free(self, request: int) -> None:
        if request in self.tokens:
            del self.tokens[request]
            self.cache.free(request)

    @rule()
    def reclaim(self) -> None:
        self.cache.reclaim()
        assert self.cache.resident_bytes() == self.cache.num_used * PAGE

    def row(self, request: int, i: int, width: int) -> np.ndarray:
        flat = np.frombuffer(self.cache.addresses(request).spaces[i].buffer(), np.uint8)
        return flat[: 12 * width].reshape(12, width)

    @invariant()
    def holds(self) -> None:
        self.cache.check()
        assert self.cache.resident_bytes() == self.cache.mapped_bytes
        for request, tokens in self.tokens.items():
            for i, width in enumerate(self.cache.token_bytes):
                expected = np.arange(tokens, dtype=np.uint8)[:, None] + 16 * request + 1
                assert (self.row(request, i, width)[:tokens] == expected).all()


TestMemoryMachine = Memory.TestCase
TestMemoryMachine.settings = settings(max_examples=40, stateful_step_count=20)

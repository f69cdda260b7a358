"""Virtual memory by the CUDA driver: on a GPU for real; without one, what is missing, and the driver's rules."""

from __future__ import annotations

import importlib.util
import pickle

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kvlab.compute import LayerShape
from kvlab.compute.cuda_pages import DevicePages, DriverRefused, load_driver
from kvlab.compute.virtual import VirtualKV, contiguous_attention
from kvlab.compute.virtual_cuda import SIZES, CudaSpace, page_sizes
from kvlab.errors import OutOfPages, UsageError
from kvlab.memory import VirtualCache
from kvlab.memory.spaces import own_spaces
from tests.compute.stand_in_driver import MIB, StandInDriver

PAGE = 2 * MIB
with_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no NVIDIA GPU that torch sees")


def on_stand_in(driver: StandInDriver) -> DevicePages:
    """Pages of the stand-in's device 0, with nothing to wait for."""
    return DevicePages(driver, 0, wait=lambda: None)


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is there")
def test_without_a_gpu_one_sentence_says_what_is_missing():
    missing = "needs an NVIDIA GPU that torch sees"
    if importlib.util.find_spec("cuda") is None:
        missing += r" and cuda-python \(pip install 'kvlab\[gpu\]'\)"
    for call in (load_driver, page_sizes, lambda: tensors("cuda", rows=1)):
        with pytest.raises(UsageError, match=missing + "; the same runs with device='cpu' on Linux"):
            call()


@pytest.mark.parametrize(("smallest", "sizes"), [(2 * MIB, SIZES[-1:]), (64 << 10, SIZES), (128 << 10, SIZES[1:])])
def test_the_driver_decides_which_of_the_paper_s_page_sizes_there_are(monkeypatch, smallest, sizes):
    driver = StandInDriver(smallest=smallest)
    monkeypatch.setattr("kvlab.compute.virtual_cuda.load_driver", lambda: driver)
    assert page_sizes("cuda:0") == list(sizes)


def test_pages_are_made_mapped_and_opened_and_kept_for_the_next():
    driver = StandInDriver()
    space = CudaSpace(16 * PAGE, PAGE, on_stand_in(driver))
    assert not driver.made  # addresses alone
    space.map(2, 5)
    assert space.resident(0, 6) == [0, 0, PAGE, PAGE, PAGE, 0]
    assert driver.open_to_kernels == {space.pointer + page * PAGE for page in (2, 3, 4)}
    space.unmap(3, 5)
    assert len(driver.made) == 3 and len(driver.mapped) == 1
    space.map(9, 11)
    assert len(driver.made) == 3 and driver.calls.count("cuMemCreate") == 3  # none was made anew
    space.close()
    assert not driver.made and not driver.mapped and not driver.reserved


def test_no_page_loses_its_address_before_the_device_was_waited_for():
    driver = StandInDriver()
    space = CudaSpace(8 * PAGE, PAGE, DevicePages(driver, 0, wait=lambda: driver.calls.append("wait")))
    space.map(0, 3)
    space.unmap(1, 3)
    assert driver.calls[-3:] == ["wait", "cuMemUnmap", "cuMemUnmap"]


def test_pages_that_do_not_suit_the_driver_are_refused_in_a_sentence():
    pages = on_stand_in(StandInDriver())
    with pytest.raises(UsageError, match=f"multiples of {PAGE} bytes, not {64 << 10}"):
        CudaSpace(PAGE, 64 << 10, pages)
    with pytest.raises(UsageError, match=f"at least 1, not {PAGE + 1} bytes"):
        CudaSpace(PAGE + 1, PAGE, pages)
    with pytest.raises(UsageError, match="device 0 has no virtual memory management"):
        on_stand_in(StandInDriver(supported=0))


@pytest.mark.parametrize("refuse", ["cuMemMap", "cuMemSetAccess"])
def test_a_driver_that_refuses_halfway_leaves_nothing_mapped(refuse):
    driver = StandInDriver()
    pages = on_stand_in(driver)
    cache = VirtualCache(20, PAGE, [PAGE], backing=own_spaces(lambda size, page: CudaSpace(size, page, pages)))
    cache.reserve("a", 10)
    cache.grow("a", 2)
    before = dict(driver.mapped)
    driver.refuse = refuse
    with pytest.raises(DriverRefused, match=f"{refuse} was refused by the CUDA driver: CUDA_ERROR_INVALID_VALUE") as it:
        cache.grow("a", 5)
    driver.refuse = ""
    assert driver.mapped == before and cache.num_tokens("a") == 2
    assert pickle.loads(pickle.dumps(it.value)).call == refuse
    cache.check()
    assert cache.grow("a", 5) == 3


def test_a_device_without_memory_says_how_many_pages_were_needed_and_there_and_keeps_what_it_made():
    driver = StandInDriver(memory=4 * PAGE)
    space = CudaSpace(16 * PAGE, PAGE, on_stand_in(driver))
    space.map(0, 2)
    with pytest.raises(DriverRefused, match=f"needed 5 pages of {PAGE} bytes, there were 2 .*OUT_OF_MEMORY"):
        space.map(2, 7)
    assert space.resident(0, 4) == [PAGE, PAGE, 0, 0] and len(driver.made) == 4
    space.map(2, 4)


class OnTheDriver(RuleBasedStateMachine):
    """Random requests on a stand-in that fails whatever the driver's documentation forbids."""

    def __init__(self) -> None:
        super().__init__()
        self.driver = StandInDriver(memory=12 * PAGE)
        pages = on_stand_in(self.driver)
        backing = own_spaces(lambda size, page: CudaSpace(size, page, pages))
        self.cache = VirtualCache(12, PAGE, [PAGE // 2, PAGE // 3], keep=True, backing=backing)

    @rule(request=st.integers(0, 3))
    def reserve(self, request: int) -> None:
        if request not in self.cache:
            self.cache.reserve(request, 12)

    @rule(request=st.integers(0, 3), tokens=st.integers(0, 12))
    def grow(self, request: int, tokens: int) -> None:
        if request in self.cache and tokens >= self.cache.num_tokens(request):
            try:
                self.cache.grow(request, tokens)
            except OutOfPages as refused:
                assert refused.needed > refused.free

    @rule(request=st.integers(0, 3))
    def free(self, request: int) -> None:
        if request in self.cache:
            self.cache.free(request)

    @rule()
    def reclaim(self) -> None:
        self.cache.reclaim()

    @invariant()
    def holds(self) -> None:
        self.cache.check()
        mapped = sum(size for size, _ in self.driver.mapped.values())
        assert mapped == self.cache.mapped_bytes == self.cache.resident_bytes()
        assert set(self.driver.mapped) == self.driver.open_to_kernels
        assert len(self.driver.made) <= 12


TestOnTheDriver = OnTheDriver.TestCase
TestOnTheDriver.settings = settings(max_examples=40, stateful_step_count=25)


def tensors(device: str, **options) -> VirtualKV:
    sizes = {"rows": 3, "max_tokens": 4096, "num_pages": 64, "page_bytes": PAGE} | options
    return VirtualKV([LayerShape(8, 128, 128)] * 2, dtype=torch.float32, device=device, **sizes)


@pytest.mark.gpu
@with_gpu
@pytest.mark.parametrize("sliced", [False, True])
def test_on_a_gpu_memory_comes_and_goes_and_contiguous_attention_reads_it(monkeypatch, sliced):
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", False)
    memory, draw = tensors("cuda", sliced=sliced), torch.Generator().manual_seed(1)
    key, value, query = (torch.randn(1500, heads, 128, generator=draw) for heads in (8, 8, 32))
    memory.reserve("a")
    before = torch.cuda.mem_get_info()[0]
    memory.grow("a", 1500)
    mapped = memory.cache.mapped_bytes
    assert before - torch.cuda.mem_get_info()[0] >= mapped > 0
    memory.check()
    memory.write("a", 1, key.cuda(), value.cuda())
    found = contiguous_attention(query.cuda(), *memory.tokens("a", 1))
    assert torch.allclose(found.cpu(), contiguous_attention(query, key, value), atol=1e-4)
    before = torch.cuda.mem_get_info()[0]
    memory.close()
    assert torch.cuda.mem_get_info()[0] - before >= mapped


@pytest.mark.gpu
@with_gpu
def test_on_a_gpu_the_stock_driver_offers_two_mebibytes_and_refuses_what_it_cannot_take():
    sizes = page_sizes()
    assert 2 * MIB in sizes
    smaller = [size for size in SIZES if size not in sizes]
    for size in smaller:
        with pytest.raises(UsageError, match="takes pages of multiples"):
            tensors("cuda", page_bytes=size)


@pytest.mark.gpu
@with_gpu
def test_on_a_gpu_a_refused_growth_maps_nothing():
    memory = tensors("cuda", num_pages=8)
    memory.reserve("a")
    memory.grow("a", 100)
    with pytest.raises(OutOfPages):
        memory.grow("a", 4000)
    memory.check()
    assert memory.cache.num_tokens("a") == 100
    memory.close()

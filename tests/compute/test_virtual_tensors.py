"""Tensors on virtual memory: ordinary attention reads them, and only the pages with tokens have memory."""

from __future__ import annotations

import mmap
import random
import sys

import pytest
import torch

from kvlab.compute import LayerShape, PagedCache, paged_attention
from kvlab.compute.virtual import VirtualKV, contiguous_attention
from kvlab.errors import OutOfPages, UsageError
from kvlab.memory import BlockManager

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="this is the memory of Linux")
PAGE = mmap.PAGESIZE
LAYERS = [LayerShape(2, 16, 16), LayerShape(2, 16, 8), LayerShape(1, 24, 16)]


def make(sliced: bool = False, **options) -> VirtualKV:
    sizes = {"rows": 4, "max_tokens": 300, "num_pages": 60, "page_bytes": PAGE} | options
    return VirtualKV(LAYERS, sliced=sliced, **sizes)


def random_kv(layer: int, tokens: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    draw, shape = torch.Generator().manual_seed(1000 * seed + 10 * tokens + layer), LAYERS[layer]
    return tuple(torch.randn(tokens, shape.kv_heads, dim, generator=draw) for dim in (shape.key_dim, shape.value_dim))


def append(memory: VirtualKV, request: str, count: int, seed: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """`count` tokens more for `request`, in every layer; what was written."""
    memory.grow(request, memory.cache.num_tokens(request) + count)
    written = [random_kv(layer, count, seed) for layer in range(len(LAYERS))]
    for layer, (key, value) in enumerate(written):
        memory.write(request, layer, key, value)
    return written


@pytest.mark.parametrize("sliced", [False, True])
def test_every_request_and_layer_reads_back_what_was_written_and_nothing_is_copied(sliced):
    memory, written = make(sliced), {}
    for request in "abc":
        memory.reserve(request)
        written[request] = [[pair] for pair in append(memory, request, 5, ord(request))]
    for step in range(40):
        request = "abc"[step % 3]
        for pairs, pair in zip(written[request], append(memory, request, 1 + step % 4, step), strict=True):
            pairs.append(pair)
    for request in "abc":
        for layer in range(len(LAYERS)):
            found = memory.tokens(request, layer)
            for kind in (0, 1):
                assert torch.equal(found[kind], torch.cat([pair[kind] for pair in written[request][layer]]))
                batch = memory.batch(layer)[kind]
                assert batch.shape[:2] == (4, 300) and found[kind].data_ptr() == batch[memory.place(request)].data_ptr()
    memory.check()


@pytest.mark.parametrize("sliced", [False, True])
def test_memory_comes_with_the_tokens_of_all_layers_and_goes_with_the_request(sliced):
    memory = make(sliced)
    assert memory.cache.resident_bytes() == 0 and memory.cache.reserved_bytes == 0
    memory.reserve("a")
    append(memory, "a", 100, 1)
    memory.check()
    numbers = sum(shape.kv_heads * (shape.key_dim + shape.value_dim) for shape in LAYERS)
    ranges = 2 if sliced else 2 * len(LAYERS)
    wasted = memory.cache.resident_bytes() - 100 * 4 * numbers
    assert 0 <= wasted < ranges * PAGE and wasted == memory.cache.waste().internal
    memory.free("a")
    assert memory.cache.resident_bytes() == 0


def test_a_refused_growth_leaves_every_tensor_as_it_was():
    memory = make(num_pages=10)
    memory.reserve("a")
    (key, value), *_ = append(memory, "a", 20, 1)
    with pytest.raises(OutOfPages, match="needed .* free pages, there were"):
        memory.grow("a", 290)
    assert memory.cache.num_tokens("a") == 20 and torch.equal(memory.tokens("a", 0)[0], key)
    assert torch.equal(memory.tokens("a", 0)[1], value)
    memory.check()


@pytest.mark.parametrize("sliced", [False, True])
@pytest.mark.parametrize(("tokens", "new"), [(1, 1), (37, 1), (37, 37), (37, 5)])
@pytest.mark.parametrize("layer", range(3))
def test_attention_that_knows_no_pages_gives_what_paged_attention_gives(layer, tokens, new, sliced):
    memory, shape = make(sliced), LAYERS[layer]
    memory.reserve("other")
    append(memory, "other", 9, 3)
    memory.reserve("a")
    key, value = append(memory, "a", tokens, 7)[layer]
    query = torch.randn(new, 4 * shape.kv_heads, shape.key_dim, generator=torch.Generator().manual_seed(tokens))
    found = contiguous_attention(query, *memory.tokens("a", layer))
    assert torch.allclose(found, paged(query, key, value, shape), atol=1e-5)


def paged(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, shape: LayerShape) -> torch.Tensor:
    manager, cache = BlockManager(20, 16), PagedCache(20, 16, [shape])
    manager.admit("other", 20)
    table = manager.admit("a", len(key))
    cache.write(0, key, value, torch.from_numpy(manager.slots("a", 0, len(key))))
    return paged_attention(
        query,
        cache.keys[0],
        cache.values[0],
        torch.tensor([table], dtype=torch.int32),
        torch.tensor([0, len(query)]),
        torch.tensor([len(key)], dtype=torch.int32),
    )


def test_dozens_of_short_and_long_requests_come_and_go_and_each_is_attended_to_as_if_alone():
    memory, draw = make(rows=6, num_pages=240, keep=True), random.Random(7)
    waiting = [(f"request {number}", draw.choice([3, 9, 20, 250])) for number in range(36)]
    held, resident = {}, []
    while waiting or held:
        while waiting and len(held) < 6:
            request, length = waiting.pop()
            memory.reserve(request)
            held[request] = (length, [append(memory, request, 3, len(waiting))])
        resident.append(memory.cache.resident_bytes())
        for request, (length, written) in list(held.items()):
            count = min(17, length - memory.cache.num_tokens(request))
            if count > 0:
                written.append(append(memory, request, count, draw.randrange(1000)))
                continue
            for layer, shape in enumerate(LAYERS):
                key, value = (torch.cat([step[layer][kind] for step in written]) for kind in (0, 1))
                query = torch.ones(1, 4 * shape.kv_heads, shape.key_dim)
                alone = contiguous_attention(query, key, value)
                assert torch.allclose(contiguous_attention(query, *memory.tokens(request, layer)), alone, atol=1e-5)
            del held[request]
            memory.free(request)
            memory.check()
    assert len(resident) > 30 and max(resident) <= 240 * PAGE
    memory.cache.reclaim()
    assert memory.cache.resident_bytes() == 0


def test_closing_ends_every_request_and_gives_all_memory_back():
    memory = make(keep=True)
    for request in "ab":
        memory.reserve(request)
        append(memory, request, 30, 2)
    memory.free("a")
    assert memory.cache.resident_bytes() > 0
    memory.close()
    assert memory.cache.resident_bytes() == 0 and len(memory.cache) == 0
    with pytest.raises(UsageError, match="were closed"):
        memory.batch(0)


def test_half_precision_lies_in_half_the_memory():
    pages = []
    for dtype in (torch.float32, torch.bfloat16):
        memory = make(dtype=dtype)
        memory.reserve("a")
        memory.grow("a", 256)
        memory.check()
        pages.append(memory.cache.num_used)
        assert memory.tokens("a", 0)[0].dtype == dtype
    assert pages[0] == 2 * pages[1]


def test_what_does_not_fit_is_refused_before_anything_is_written():
    memory = make()
    memory.reserve("a")
    append(memory, "a", 4, 1)
    before = [tensor.clone() for tensor in memory.tokens("a", 0)]
    key, value = random_kv(0, 2, 5)
    for wrong in ((key, value[:, :1]), (key[..., :3], value), random_kv(0, 5, 5)):
        with pytest.raises(UsageError, match="does not fit the last of"):
            memory.write("a", 0, *wrong)
    assert all(torch.equal(*pair) for pair in zip(before, memory.tokens("a", 0), strict=True))
    with pytest.raises(UsageError, match="7 queries are not the last of 4 tokens"):
        contiguous_attention(torch.zeros(7, 4, 16), *memory.tokens("a", 0))
    with pytest.raises(UsageError, match="at least 1 layer"):
        VirtualKV([], rows=1, max_tokens=1, num_pages=1, page_bytes=PAGE)
    with pytest.raises(UsageError, match="on the CPU and on CUDA devices, not on meta"):
        make(device="meta")
    for request in "bcd":
        memory.reserve(request)
    with pytest.raises(UsageError, match="all 4 are taken"):
        memory.reserve("e")

"""More ranks than KV heads, a failure of other systems, by the course's number (FAILURES.md F28)."""

from __future__ import annotations

import pytest
import torch

from kvlab.compute import paged_attention
from kvlab.compute.shards import merge_heads
from kvlab.errors import UsageError
from kvlab.memory import shard_heads
from tests.serve.ranks_cases import cases
from tests.serve.ranks_running import alone, on_ranks, refuse_wrong_shares


@pytest.mark.parametrize(("name", "which"), cases(4))
def test_f28_four_ranks_and_fewer_kv_heads_say_what_one_rank_says_and_count_each_copy(name, which):
    found = on_ranks(4)[f"{name} {which}"]
    assert found["said"] == alone(name, which)
    refuse_wrong_shares(name, which, found["held"], 4)


@pytest.mark.parametrize(("heads", "kv_heads"), [(8, 1), (8, 2), (8, 4), (8, 8), (16, 2)])
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_f28_attention_of_each_rank_over_its_own_heads_merges_to_the_unsharded_one_bit_for_bit(heads, kv_heads, ranks):
    draw = torch.Generator().manual_seed(heads * 100 + kv_heads)
    query = torch.randn(3, heads, 16, generator=draw)
    keys, values = (torch.randn(5, 4, kv_heads, 16, generator=draw) for _ in range(2))
    tables = torch.tensor([[3, 0, 4], [1, 0, 0]], dtype=torch.int32)
    batch = tables, torch.tensor([0, 2, 3], dtype=torch.int32), torch.tensor([9, 4], dtype=torch.int32)
    shards = shard_heads(heads, kv_heads, ranks)
    outputs = [
        paged_attention(query[:, shard.heads], keys[:, :, shard.kv_heads], values[:, :, shard.kv_heads], *batch)
        for shard in shards
    ]
    whole = paged_attention(query, keys, values, *batch)
    torch.testing.assert_close(merge_heads(outputs, shards), whole, rtol=1e-5, atol=1e-6)
    order = torch.randperm(ranks, generator=draw).tolist()  # ranks may be listed in any order
    assert torch.equal(
        merge_heads([outputs[i] for i in order], [shards[i] for i in order]), merge_heads(outputs, shards)
    )


def test_f28_outputs_that_do_not_fit_their_shards_are_refused():
    shards = shard_heads(4, 2, 2)
    part = torch.zeros(1, 2, 8)
    for outputs, given in (([part], shards), ([part, part[:, :1]], shards), ([part, part], [shards[0]] * 2), ([], [])):
        with pytest.raises(UsageError, match=r"the ranks have|each of"):
            merge_heads(outputs, given)

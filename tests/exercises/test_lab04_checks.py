"""The benches of lab 04 by themselves: the oracle, the counting of work, and what happens where torch is missing."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import subprocess
import sys

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from kvlab.compute import attend_blockwise, gather_kv, paged_attention
from kvlab.course import notebooks, registry
from kvlab.course.declare import Traces, Wrong
from kvlab.course.exercises import lab04_attention_bench as batches
from kvlab.course.exercises import lab04_blockwise_bench as walks
from kvlab.course.exercises.lab04_tensors import TOLERANCE, dense
from kvlab.course.judge import judge

LAB = registry.of_lab("04")
each = pytest.mark.parametrize("entry", LAB, ids=lambda entry: entry.name)


@pytest.mark.parametrize("context, queries, heads, kv_heads", [(7, 3, 6, 2), (5, 5, 4, 1), (9, 1, 3, 3), (4, 2, 4, 2)])
def test_the_oracle_agrees_with_torchs_own_attention(context, queries, heads, kv_heads):
    query = torch.randn(queries, heads, 5, dtype=torch.float64)
    keys, values = torch.randn(2, context, kv_heads, 5, dtype=torch.float64)
    visible = torch.arange(context) <= torch.arange(context - queries, context)[:, None]
    rows = (tensor.transpose(0, 1) for tensor in (query, keys, values))
    theirs = scaled_dot_product_attention(*rows, visible, scale=0.3, enable_gqa=True).transpose(0, 1)
    assert torch.allclose(dense(query, keys, values, 0.3)[0], theirs, atol=1e-6)


def numbers(bench, code, value):
    """What `code` returns in one call of a bench, as one row of numbers."""
    if bench is batches:
        options = {} if value.scale is None else {"scale": value.scale}
        got = code(*(tensor.clone() for tensor in bench.made(value)[0]), **options)
    else:
        tensors, table = bench.made(value)[:2]
        scale = () if value.scale is None else (value.scale,)
        got = torch.cat([part.flatten() for part in code(*tensors, list(table), value.length, *scale)])
    return got.detach().flatten().double()


@pytest.mark.parametrize("entry, bench, part", [(LAB[2], batches, paged_attention), (LAB[3], walks, attend_blockwise)])
def test_the_tolerance_is_far_above_rounding_and_far_below_every_known_mistake(entry, bench, part):
    checks = [check for check in entry.checks if isinstance(check, Traces)]
    values = [value for check in checks for value in check.examples]
    right = [numbers(bench, part, value) for value in values]
    for value, found in zip(values, right, strict=True):
        made = bench.made(value)
        wanted = made[1] if bench is batches else torch.cat([made[2].flatten(), made[3]])
        assert (found - wanted.flatten()).abs().max() < TOLERANCE / 20
    for mistake in entry.mistakes:
        assert furthest(bench, mistake.code, values, right) > 100 * TOLERANCE, mistake.code.__name__


def furthest(bench, code, values, right):
    """The largest difference that a mistake makes in any call; inf if it raises, or if it errs in a corner alone."""
    found = 0.0
    for value, wanted in zip(values, right, strict=True):
        try:
            got = numbers(bench, code, value)
            difference = (got - wanted).abs().nan_to_num(torch.inf).max().item()
        except Exception:
            return torch.inf
        found = max(found, difference)
    return found if found > TOLERANCE else torch.inf


def test_f33_right_numbers_without_the_saving_fail():
    def gathers(query, key_pool, value_pool, table, length, scale=None):
        start, contexts = torch.tensor([0, 1]), torch.tensor([length])
        gather_kv(key_pool, table, length)
        tables = torch.tensor([table])
        found = paged_attention(query[None], key_pool, value_pool, tables, start, contexts, return_lse=True)
        return found[0][0], found[1][0]

    with pytest.raises(Wrong, match="with 101 tokens in blocks of 2 it makes a tensor of shape"):
        walks.a_block_at_a_time(gathers)
    walks.a_block_at_a_time(attend_blockwise)


def test_f33_scores_kept_for_one_head_at_a_time_are_seen_too():
    def keeps(query, key_pool, value_pool, table, length, scale=None):
        size, found = key_pool.shape[1], []
        for head in range(len(query)):
            kv = head // (len(query) // key_pool.shape[2])
            parts = [key_pool[table[i // size], : length - i, kv] @ query[head] for i in range(0, length, size)]
            scores = torch.cat(parts) * query.shape[-1] ** -0.5
            weights = scores.softmax(0).split(size)
            values = [value_pool[block, : len(w), kv] for w, block in zip(weights, table, strict=True)]
            found.append((sum(w @ value for w, value in zip(weights, values, strict=True)), scores.logsumexp(0)))
        return torch.stack([output for output, _ in found]), torch.stack([lse for _, lse in found])

    with pytest.raises(Wrong, match="shape \\(101,\\), 101 numbers"):
        walks.a_block_at_a_time(keeps)


def test_tables_masks_and_views_may_be_as_long_as_they_like():
    def thorough(query, key_pool, value_pool, table, length, scale=None):
        blocks, every = torch.tensor(table), torch.arange(length)
        assert (every < length).all() and key_pool.flatten(0, 1).shape[0] > length
        return attend_blockwise(query, key_pool, value_pool, blocks.tolist(), length, scale)

    walks.a_block_at_a_time(thorough)


@pytest.mark.parametrize("entry", LAB[::3], ids=lambda entry: entry.name)
def test_a_check_without_a_forked_process_says_the_same(entry):
    here = dataclasses.replace(entry, isolate=False)
    assert judge(here, registry.part_of(entry)).text == judge(entry, registry.part_of(entry)).text
    slip = entry.mistakes[0]
    assert judge(here, slip.code).text == judge(entry, slip.code).text


@each
def test_advice_is_never_cut(entry):
    advice = [piece.next for piece in (*entry.checks, *entry.mistakes) if piece.next]
    assert all(len(piece.next or "") for piece in entry.checks)
    assert max(map(len, advice)) <= 73, max(advice, key=len)


@each
def test_the_finished_part_takes_the_arguments_of_the_labs_signature(entry):
    source = notebooks.solved_source(entry)
    lab = [argument.arg for argument in ast.parse(source).body[0].args.args]
    assert lab == list(inspect.signature(registry.part_of(entry)).parameters)[: len(lab)]


def python(code: str) -> list[str]:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_labs_before_never_import_torch_and_neither_does_a_look_at_all_exercises():
    said = python("import sys\nfrom kvlab.course import *\nfrom kvlab.course import registry\n"
                  "for lab in ('00', '01', '02', '03'): open_lab(lab)\n"
                  "print(len(list(registry.every())), registry.find('write_kv').lab)\nhint('paged_attention')\n"
                  "print(sorted({'torch', 'triton', 'transformers'} & set(sys.modules)))")
    assert said[-1] == "[]" and any(line.endswith(" 04") for line in said)


def test_without_torch_one_sentence_says_what_to_install():
    cell = "@exercise\\ndef gather_kv(pool, table, length):\\n    return pool\\n"
    said = python("import sys, os\nos.environ['KVLAB_PROGRESS'] = 'off'\nsys.modules['torch'] = None\n"
                  f"from kvlab.course import *\nopen_lab('04')\nexec('''{cell}''')\nopen_lab('03')")
    sentence = ("✗ Lab 04 needs PyTorch, which is not installed: run `make torch` in the course's folder, or "
                "`pip install torch`, then restart the kernel.")
    assert said[:2] == [sentence, sentence] and said[2].startswith("Lab 03 ·")

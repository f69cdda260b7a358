# %% [markdown] id="title"
# # 05 · Paged attention in Triton
#
# *Two hours. Needs PyTorch and Triton; no GPU needed.*

# %% [markdown] id="able"
# ## What you will be able to do
#
# - write a Triton kernel, and say what each of its programs does;
# - read keys and values through a block table, in place, with an online softmax;
# - let several query heads share one read, and say how several programs share one long conversation;
# - say how long a decode step takes at least, and where paging loses;
# - run a model on your own kernels.

# %% id="setup" tags=["nbval-ignore-output"]
from kvlab.course import *

open_lab("05")

# %% id="setup-torch"
import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

# %% [markdown] id="recall"
# ## Recall
#
# From labs 01, 03 and 04, without looking. Run the cell to see the questions, then put a letter in quotes in place of each `...`.

# %% id="recall-questions"
### BEGIN SOLUTION
bound = "a"
entries = "b"
shrink = "c"
### END SOLUTION

recall("05-bound", bound)
recall("05-entries", entries)
recall("05-shrink", shrink)

# %% [markdown] id="puzzle-copy"
# ## Two puzzles, worked: how a kernel thinks
#
# A GPU starts the same small program many times at once. No one tells a program what its share is: it has only its number, and pointers to memory. Say 10 numbers are to be copied, by programs that
# move 4 each. Program `p` takes places `4 * p` to `4 * p + 3`, as one *tile*. There must be 3 programs, and the last finds only 2 numbers left.
#
# A tensor arrives as a pointer to its first number, and `source + 5` points to the sixth. `tl.constexpr` marks what must be known when the kernel is compiled, as the size of a tile must. And
# a pointer knows no length. What keeps the last program from writing over somebody else's memory is the **mask**:

# %% id="puzzle-copy-code"
@triton.jit
def masked_copy(source, target, n, TILE: tl.constexpr):
    place = tl.program_id(0) * TILE + tl.arange(0, TILE)  # 4 places at once
    inside = place < n
    numbers = tl.load(source + place, mask=inside, other=0.0)  # masked lanes are not read: they get `other`
    tl.store(target + place, numbers, mask=inside)


source, target = torch.arange(10.0, device=DEVICE), torch.zeros(10, device=DEVICE)
masked_copy[(3,)](source, target, 10, 4)  # a grid of 3 programs
print(target.tolist())

# %% [markdown] id="puzzle-mask"
# Without the mask most GPUs say nothing, and a stranger's numbers change. This course looks at every access: each check here runs your kernel in Triton's interpreter under a *bounds guard*, which names
# the tensor, the place, the program and the line.

# %% id="puzzle-mask-code"
from kvlab.course.interpreter import KernelFault, guarded


@triton.jit
def unmasked_copy(source, target, n, TILE: tl.constexpr):
    place = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.store(target + place, tl.load(source + place))


try:
    guarded(unmasked_copy, (3,), source.cpu(), target.cpu(), 10, 4)
except KernelFault as fault:
    print(fault.sentence)

# %% [markdown] id="puzzle-gather"
# The second puzzle is paging itself: pages, as blocks are called when attention reads them, lie all over a pool, and a table says where. One program fetches one page. It loads a *number* from the table, and makes an address of it.
#
# Block ids are `int32`. A pool may hold more than `2 ** 31` numbers, and then id times page size leaves `int32`: it wraps around and points somewhere else. Hence `to(tl.int64)`, before the product.

# %% id="puzzle-gather-code"
@triton.jit
def gather(pool, table, target, WIDTH: tl.constexpr):
    page = tl.program_id(0)
    block = tl.load(table + page).to(tl.int64)
    column = tl.arange(0, WIDTH)
    tl.store(target + page * WIDTH + column, tl.load(pool + block * WIDTH + column))


pool = torch.arange(24.0, device=DEVICE).view(6, 4)  # 6 pages of 4 numbers
table = torch.tensor([5, 0, 3], dtype=torch.int32, device=DEVICE)
pages = torch.empty(3, 4, device=DEVICE)
gather[(3,)](pool, table, pages, 4)
print(pages.tolist())

# %% [markdown] id="write-intro"
# ## New keys and values go into their slots
#
# Lab 04's `write_kv`, as a kernel: one program for each new token. A token's key is a row of `width = kv_heads * head_dim` numbers, and slot `s` begins at number `s * width` of the pool. The tile is a power of two, as every `tl.arange`, and may be longer than the
# row.
#
# In PyTorch, index -1 was the last slot. A pointer minus one row is the memory *before* the pool. Padding must write nothing.
#
# ★★☆ · core · 15 min

# %% id="ex-write-kv-kernel"
@exercise
@triton.jit
def write_kv_kernel(key, value, key_pool, value_pool, slots, width, TILE: tl.constexpr):
    """Copy row t of `key` and `value` into slot `slots[t]` of the pools; a slot below 0 writes nothing.

    Grid: (num_tokens,). key, value: [num_tokens, width]; pools: [num_slots, width]; slots: int64. TILE >= width.
    """
    ### BEGIN SOLUTION
    token = tl.program_id(0)
    slot = tl.load(slots + token)
    column = tl.arange(0, TILE)
    inside = (column < width) & (slot >= 0)
    row = tl.load(key + token * width + column, mask=inside)
    tl.store(key_pool + slot * width + column, row, mask=inside)
    row = tl.load(value + token * width + column, mask=inside)
    tl.store(value_pool + slot * width + column, row, mask=inside)
    ### END SOLUTION


# %% [markdown] id="decode-intro"
# ## One token looks back, page by page
#
# When a conversation decodes, it brings one query for each head. One program takes one sequence and one head, walks over the pages, and keeps what lab 04's online softmax keeps: the largest score, the sum, the output so far.
#
# A page is a tile `[BLOCK_SIZE, HEAD_DIM]`. Indices make it two-dimensional: `rows[:, None] + dim[None, :]`. The pool is `[num_blocks, BLOCK_SIZE, KV_HEADS, HEAD_DIM]`, so from one token to the next it is `KV_HEADS * HEAD_DIM` numbers. `tl.sum(..., axis=1)` and `tl.max(..., axis=0)` fold a tile. Python's `for start in range(0, length, BLOCK_SIZE)` works as it stands.
#
# What you need besides: `tl.zeros([N], tl.float32)`, `tl.where(mask, a, b)`, `tl.maximum`, `tl.exp`, `float("-inf")`. Join masks with `&`, in brackets: `(a < n) & (b >= 0)`. A variable that a loop changes must keep its shape and type.
#
# In the last page only some slots are the sequence's. Whatever lies in the others, even NaN, must not change the output (**I6**), neither as a key nor as a value.
#
# ★★★ · core · 25 min

# %% id="ex-paged-decode-kernel"
@exercise
@triton.jit
def paged_decode_kernel(
    output, query, key_pool, value_pool, block_tables, context_lengths, scale, max_blocks,
    HEADS: tl.constexpr, KV_HEADS: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    """One query head of one sequence attends over the sequence's pages; context length 0 gives 0.

    Grid: (num_seqs, HEADS). query, output: [num_seqs, HEADS, HEAD_DIM]; pools: [num_blocks, BLOCK_SIZE, KV_HEADS,
    HEAD_DIM]; block_tables: [num_seqs, max_blocks] int32; context_lengths: [num_seqs]. Sums are float32.
    """
    ### BEGIN SOLUTION
    sequence, head = tl.program_id(0), tl.program_id(1)
    kv_head = head // (HEADS // KV_HEADS)
    length = tl.load(context_lengths + sequence)
    dim, offset = tl.arange(0, HEAD_DIM), tl.arange(0, BLOCK_SIZE)
    row = (sequence * HEADS + head) * HEAD_DIM + dim
    q = tl.load(query + row).to(tl.float32) * scale
    largest, total, acc = -float("inf"), 0.0, tl.zeros([HEAD_DIM], dtype=tl.float32)
    for start in range(0, length, BLOCK_SIZE):
        block = tl.load(block_tables + sequence * max_blocks + start // BLOCK_SIZE).to(tl.int64)
        place = ((block * BLOCK_SIZE + offset) * KV_HEADS + kv_head) * HEAD_DIM
        tile, seen = place[:, None] + dim[None, :], start + offset < length
        k = tl.load(key_pool + tile, mask=seen[:, None], other=0.0).to(tl.float32)
        scores = tl.where(seen, tl.sum(k * q[None, :], axis=1), -float("inf"))
        higher = tl.maximum(largest, tl.max(scores, axis=0))
        shrink, weights = tl.exp(largest - higher), tl.exp(scores - higher)
        v = tl.load(value_pool + tile, mask=seen[:, None], other=0.0).to(tl.float32)
        total = total * shrink + tl.sum(weights, axis=0)
        acc = acc * shrink + tl.sum(weights[:, None] * v, axis=0)
        largest = higher
    tl.store(output + row, acc / tl.where(total > 0, total, 1.0))
    ### END SOLUTION


# %% [markdown] id="reads-intro"
# ## How often a key is read
#
# Llama 3 8B has 32 query heads on 8 KV heads. Your kernel starts a program for each query head.
#
# **Predict.** How many times is each key read in a step?

# %% id="predict-reads"
### BEGIN SOLUTION
my_reads = 4
### END SOLUTION

predict("05-reads", my_reads, unit="times")

# %% id="count-reads"
keys, values = torch.randn(2, 4, 16, 8, 16)  # 4 blocks of 16 tokens, 8 KV heads of 16
query, out = torch.randn(2, 1, 32, 16)
tables, lengths = torch.tensor([[2, 0]], dtype=torch.int32), torch.tensor([32], dtype=torch.int32)
given = out, query, keys, values, tables, lengths
sizes = {"HEADS": 32, "KV_HEADS": 8, "HEAD_DIM": 16, "BLOCK_SIZE": 16}
work = guarded(paged_decode_kernel, (1, 32), *given, scale=0.25, max_blocks=2, **sizes)
cached = 32 * 8 * 16  # numbers in the keys of 32 tokens
print(f"{work.loaded['key_pool']:,} numbers read from key_pool, {cached:,} lie there")
reveal("05-reads", work.loaded["key_pool"] / cached)

# %% [markdown] id="grouped-intro"
# A GPU's own small memory softens that, since what was just read is still near. But the cure is simple: one program for each **KV head**. The query heads that share it become the *rows* of a matrix, and scores are one product, `tl.dot(q, tl.trans(k))`, for which a GPU has units of its own. Their tiles have at least 16 rows:
# `GROUP_TILE` is the group, rounded up. Rows beyond the group are nobody's: mask them.
#
# Everything that was one number for a program becomes one for each row. `tl.full([N], x, tl.float32)` makes a tile. Both sides of `tl.dot` must have one type: `weights.to(v.dtype)`.
#
# ★★★ · core · 20 min

# %% id="ex-grouped-decode-kernel"
@exercise
@triton.jit
def grouped_decode_kernel(
    output, query, key_pool, value_pool, block_tables, context_lengths, scale, max_blocks,
    HEADS: tl.constexpr, KV_HEADS: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK_SIZE: tl.constexpr,
    GROUP_TILE: tl.constexpr,
):  # fmt: skip
    """The query heads of one KV head attend together, as the rows of one matrix product.

    Grid: (num_seqs, KV_HEADS). Tensors as for paged_decode_kernel. GROUP_TILE >= HEADS // KV_HEADS, a power of two.
    """
    ### BEGIN SOLUTION
    sequence, kv_head = tl.program_id(0), tl.program_id(1)
    GROUP: tl.constexpr = HEADS // KV_HEADS
    length = tl.load(context_lengths + sequence)
    dim, offset, member = tl.arange(0, HEAD_DIM), tl.arange(0, BLOCK_SIZE), tl.arange(0, GROUP_TILE)
    rows = (sequence * HEADS + kv_head * GROUP + member)[:, None] * HEAD_DIM + dim[None, :]
    mine = (member < GROUP)[:, None]
    q = tl.load(query + rows, mask=mine, other=0.0)
    largest = tl.full([GROUP_TILE], -float("inf"), dtype=tl.float32)
    total = tl.zeros([GROUP_TILE], dtype=tl.float32)
    acc = tl.zeros([GROUP_TILE, HEAD_DIM], dtype=tl.float32)
    for start in range(0, length, BLOCK_SIZE):
        block = tl.load(block_tables + sequence * max_blocks + start // BLOCK_SIZE).to(tl.int64)
        place = ((block * BLOCK_SIZE + offset) * KV_HEADS + kv_head) * HEAD_DIM
        tile, seen = place[:, None] + dim[None, :], start + offset < length
        k = tl.load(key_pool + tile, mask=seen[:, None], other=0.0)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        scores = tl.where(seen[None, :], scores, -float("inf"))
        higher = tl.maximum(largest, tl.max(scores, axis=1))
        shrink, weights = tl.exp(largest - higher), tl.exp(scores - higher[:, None])
        v = tl.load(value_pool + tile, mask=seen[:, None], other=0.0)
        total = total * shrink + tl.sum(weights, axis=1)
        acc = acc * shrink[:, None] + tl.dot(weights.to(v.dtype), v, input_precision="ieee")
        largest = higher
    tl.store(output + rows, acc / tl.where(total > 0, total, 1.0)[:, None], mask=mine)
    ### END SOLUTION


# %% [markdown] id="split-intro"
# ## One conversation, and a whole GPU
#
# An H200 has 132 processors (SMs). Say one conversation decodes, with 8 KV heads and so 8 programs, each on an SM of its own.
#
# **Predict.** What share of the SMs has nothing to do, in per cent?

# %% id="predict-idle"
### BEGIN SOLUTION
my_idle = 94
### END SOLUTION

predict("05-idle", my_idle, unit="%")

# %% id="reveal-idle"
SMS, KV_HEADS = 132, 8
print(f"{SMS - KV_HEADS} of {SMS} SMs idle; {SMS // KV_HEADS} parts a KV head would fill them")
reveal("05-idle", 100 * (SMS - KV_HEADS) / SMS)

# %% [markdown] id="split-task"
# So a long context is cut into parts, each attended by programs of its own (*split-KV*, or flash decoding). Parts begin where blocks begin, so that no block is read twice; none is empty; and they differ by at most one block, since the longest is waited for.
#
# ★★☆ · core · 10 min

# %% id="ex-split-kv"
@exercise
def split_kv(num_tokens: int, num_splits: int, block_size: int) -> list[tuple[int, int]]:
    """Parts (start, end) of a context, in tokens, in order: as many as wanted, or one a block if there are fewer."""
    ### BEGIN SOLUTION
    blocks = -(-num_tokens // block_size)
    parts = min(num_splits, blocks)
    edges = [i * blocks // parts * block_size for i in range(parts)] + [num_tokens]
    return list(zip(edges, edges[1:]))
    ### END SOLUTION


# %% [markdown] id="merge-task"
# Each part gives its output, a mean of its own values, and its log-sum-exp, lab 04's second result. A part's share of the whole is its sum over the sum of all. Scores may be large, so stay with logs as long as you can. A part may be empty: its log is -inf, and its output may be anything.
#
# ★★☆ · core · 15 min

# %% id="ex-merge-partials"
@exercise
def merge_partials(outputs, lses):
    """Join parts: outputs [parts, ..., head_dim], lses [parts, ...]. Returns the output [..., head_dim] and the log of
    the whole sum [...]; where all parts are empty, 0 and -inf."""
    ### BEGIN SOLUTION
    lse = torch.logsumexp(lses, 0)
    weights = torch.exp(lses - lse.masked_fill(lse == -torch.inf, 0.0))
    outputs = outputs.masked_fill((lses == -torch.inf)[..., None], 0.0)
    return (outputs * weights[..., None]).sum(0), lse
    ### END SOLUTION


# %% id="split-and-merge"
from kvlab.compute import attend_blockwise

table, context = [2, 0, 3], 41
whole = attend_blockwise(query[0], keys, values, table, context)
parts = split_kv(context, 2, 16)
attended = [
    attend_blockwise(query[0], keys, values, table[start // 16 :], end - start) for start, end in parts
]
merged = merge_partials(*(torch.stack(found) for found in zip(*attended)))
print(parts, "merged as if attended at once:", torch.allclose(merged[0], whole[0], atol=1e-5))

# %% [markdown] id="copy-intro"
# One more kernel. In lab 06 conversations share blocks, and the plan of a step names, in pairs of numbers, the blocks to be copied first. This is how a GPU carries such a plan out. A block is too long for one tile, so the grid has a second axis.
#
# ★★☆ · extra · 10 min

# %% id="ex-copy-blocks-kernel"
@exercise
@triton.jit
def copy_blocks_kernel(pool, sources, targets, block_numel, TILE: tl.constexpr):
    """Copy block sources[p] of the pool to block targets[p], for each pair p; no block is named twice.

    Grid: (num_pairs, tiles), tiles * TILE >= block_numel, the numbers in a block. sources, targets: int32.
    """
    ### BEGIN SOLUTION
    source = tl.load(sources + tl.program_id(0)).to(tl.int64)
    target = tl.load(targets + tl.program_id(0)).to(tl.int64)
    place = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = place < block_numel
    tl.store(pool + target * block_numel + place, tl.load(pool + source * block_numel + place, mask=inside), mask=inside)
    ### END SOLUTION


# %% [markdown] id="measure"
# ## Measure: the bytes decide
#
# A decode step computes little for each byte, so at best it takes as long as the keys and values take to read: bytes over bandwidth, the *roofline*. One layer of the assistant keeps 4 KiB of a token. An H200 reads 4.8 TB a second, by specification.
#
# **Predict.** 64 conversations of 4,096 tokens decode together. How many microseconds does one layer's attention take at least?

# %% id="predict-microseconds"
### BEGIN SOLUTION
my_microseconds = 220
### END SOLUTION

predict("05-microseconds", my_microseconds, unit="microseconds")

# %% id="bytes-of-a-step"
from kvlab.bench.law import LAW, PEAK_RATE
from kvlab.memory import BANDWIDTH, LLAMA_3_8B  # of an A100

layer = LLAMA_3_8B.bytes_per_token // 32  # of 32 layers
tokens = 64 * 4096
print(f"{layer / 1024:.0f} KiB x {tokens:,} tokens, at {PEAK_RATE / 1e12} TB a second")
reveal("05-microseconds", tokens * layer / PEAK_RATE * 1e6)
print(f"on an A100, at {BANDWIDTH / 1e12} TB a second: {tokens * layer / BANDWIDTH * 1e6:.1f} microseconds")

# %% [markdown] id="roofline-intro"
# Nothing reaches the specification. The curve *predicted* is a start, and then bytes at the rate of a plain copy: it follows published timings of paged decoding with FlashAttention-3 on an H200. *Wanted at least* is the aim for the course's own fast kernel, `kernels/paged_decode.py`. Where measurements of it are stored, they are drawn as points; the figure says whether there are any.

# %% id="figure-roofline"
from kvlab.bench import few, measure, stored, why_not
from kvlab.view import roofline

roofline(stored())

# %% [markdown] id="measure-here"
# On a GPU this cell measures it here, in about a minute:

# %% id="measure-here-cell" tags=["nbval-ignore-output"]
obstacle = why_not("decode")
print(f"This machine {obstacle}") if obstacle else display(roofline([measure(few(), seconds=60)]))

# %% [markdown] id="loses"
# ## Where paging loses
#
# With a table there is one more step between a program and its first key: length, then *table entry*, then key. Each waits for the one before. Over a long context the next entries are fetched early, and nobody notices. Below is how long each context takes to read, after a start of some microseconds, which a kernel takes with or without a table.

# %% id="loses-code"
for context in (16, 4096):
    entries = -(-context // 16)
    reading = context * layer / LAW.rate * 1e6
    share = 4 * entries / (context * layer)
    print(f"{context:5,} tokens: {reading:.3f} us of reading after {LAW.start * 1e6} us of start")
    print(f"              table entries: {entries}, or {share:.4%} of the bytes")
blocks = -(-1000 // 16)
print(f"known lengths of 1,000 tokens: contiguous wastes 0 slots, blocks {blocks * 16 - 1000} of {blocks * 16}")

# %% [markdown] id="loses-after"
# The table's bytes never matter; its *wait* does, when there is nothing to hide it behind. 16 tokens are read in 0.015 microseconds. The rest of the step is starting and waiting, and the table adds a wait: about one trip to memory, which no cell here has timed. And where all lengths are known and equal, as when a company scores
# 1,000-token documents, contiguous memory wastes nothing: paging costs lookups and half a block, and solves a problem that is not there.
#
# ## The model speaks through your kernels
#
# `Engine` takes kernels of these two signatures; prompts stay with the finished part. If your kernels passed, it runs *them* below, in some seconds, and says which ran.

# %% id="engine-kernels"
from kvlab.compute import Kernels
from kvlab.models import EXAMPLE_ORDER, load_courier
from kvlab.serve import Engine

model, tokenizer = load_courier()
model.to(DEVICE)
chat = [{"role": "system", "content": EXAMPLE_ORDER}, {"role": "user", "content": "Where is my courier?"}]
prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)

# %% id="engine-run"
def whose(kernel):
    return "yours" if kernel.fn.__module__ == "__main__" else "the finished part (yours has not passed)"


def answer(kernels):
    engine = Engine(model, 16, 32, kernels=kernels, fill=float("nan"), checked=True)
    asked = engine.submit(prompt, max_new_tokens=10)
    engine.run()
    return asked.tokens


print("write:", whose(write_kv_kernel), "/ decode:", whose(grouped_decode_kernel))
usual, ours = answer(None), answer(Kernels(write=write_kv_kernel, decode=grouped_decode_kernel))
print(tokenizer.decode(ours))
print("the same tokens:", ours == usual)

# %% [markdown] id="hunt"
# ## Bug hunt: the emptier the page, the fainter the answer
#
# A colleague masks every load, and the bounds guard has no complaint. With full pages the weights are right. With a page that is partly filled, answers fade.

# %% id="hunt-code"
@triton.jit
def weights_kernel(weights, scores, length, TILE: tl.constexpr):
    place = tl.arange(0, TILE)
    score = tl.load(scores + place, mask=place < length, other=0.0)
    weight = tl.exp(score - tl.max(score, axis=0))
    tl.store(weights + place, weight / tl.sum(weight, axis=0), mask=place < length)


def sum_of_weights(kernel, length):
    scores, weights = torch.full((length,), -2.0), torch.zeros(length)
    guarded(kernel, (1,), weights, scores, length, 8)
    return round(float(weights.sum()), 3)


print({length: sum_of_weights(weights_kernel, length) for length in (8, 6, 2)})

# %% id="hunt-question"
### BEGIN SOLUTION
cause = "c"
### END SOLUTION

recall("05-bug-hunt", cause)

# %% [markdown] id="hunt-fix"
# Mend it, so that every sum is 1.

# %% id="hunt-solve"
@triton.jit
def mended_kernel(weights, scores, length, TILE: tl.constexpr):
    """Like weights_kernel, but only the first `length` scores take weight."""
    ### BEGIN SOLUTION
    place = tl.arange(0, TILE)
    score = tl.load(scores + place, mask=place < length, other=-float("inf"))
    weight = tl.exp(score - tl.max(score, axis=0))
    tl.store(weights + place, weight / tl.sum(weight, axis=0), mask=place < length)
    ### END SOLUTION


sums = {length: sum_of_weights(mended_kernel, length) for length in (8, 6, 2)}
print("sums:", sums, "- as it should be" if set(sums.values()) == {1.0} else "- not yet: each must be 1.0")

# %% [markdown] id="say"
# ## Say it out loud
#
# In thirty seconds: what does a decode kernel do, what bounds its time, and what must it never read?

# %% id="say-it"
### BEGIN SOLUTION
my_words = """A program takes a sequence and a KV head and walks over its pages: block id from the table, as int64, a tile of keys,
a tile of values, and an online softmax. The query heads of the KV head are rows of one product, so each key is read once.
Time is bytes over bandwidth. Long contexts are split and merged by their log sums. What lies behind the length is masked."""
### END SOLUTION

say_it("05", my_words)

# %% id="close-lab"
close_lab("05")

# %% [markdown] id="read-on"
# ## Read on
#
# - Triton's own [tutorials](https://triton-lang.org/main/getting-started/tutorials/index.html), from vector addition to attention.
# - Flash decoding: Dao, Haziza, Massa and Sizov 2023, [pytorch.org](https://pytorch.org/blog/flash-decoding/).
# - `kernels/paged_decode.py` in this repository: the same idea, with tiles across pages, windows, and FP8.
# - Next comes [lab 06](06_copy_on_write.ipynb): conversations that share blocks until they write.

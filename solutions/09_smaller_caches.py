# %% [markdown] id="title"
# # 09 · Smaller caches
#
# *Ninety minutes. Needs PyTorch; no GPU needed.*

# %% [markdown] id="able"
# ## What you will be able to do
#
# - keep keys and values in 8 bits, and attend over them without multiplying them back;
# - measure what that costs in quality, and show when it goes wrong;
# - give back the blocks that a sliding window has left behind;
# - page the latents of a DeepSeek model, one head for all;
# - say what each idea saves, and that paging is none of them.

# %% id="setup" tags=["nbval-ignore-output"]
from kvlab.course import *

open_lab("09")

# %% [markdown] id="recall"
# ## Recall
#
# From labs 01, 04 and 08, without looking. Run the cell to see the questions, then put a letter in quotes in place of each `...`.

# %% id="recall-questions"
### BEGIN SOLUTION
paging = "b"
online = "c"
first = "a"
### END SOLUTION

recall("09-paging", paging)
recall("09-online", online)
recall("09-first", first)

# %% [markdown] id="problem"
# ## The blocks are full, and every number in them takes two bytes
#
# Paging has removed the waste. The assistant's GPU is full again, of tokens this time, and customers wait. More of them fit only if a token takes less.
#
# Does a key need 16 bits? A number of 8 bits, **FP8 e4m3**, has a sign, four bits for its size and three for its digits. See which numbers there are:

# %% id="e4m3"
import torch

codes = torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).float()
numbers = codes[codes.isfinite() & (codes >= 0)].unique()
print("from 1 to 2:  ", [x for x in numbers.tolist() if 1 <= x <= 2])
print("from 16 to 32:", [x for x in numbers.tolist() if 16 <= x <= 32])
print(f"the largest: {numbers.max():g}; eight steps down to {torch.finfo(torch.float8_e4m3fn).smallest_normal:.3f}; "
      f"the smallest above 0: {numbers[1]:.4f}")

# %% [markdown] id="quantize-intro"
# Between two powers of two there are eight steps, so what is kept is off by a sixteenth of itself at most, from 0.016 to 448. Not beyond those ends: a key of 900 becomes 448, a small one is rounded coarsely, and a very small one to 0.
#
# So numbers are divided by a **scale** before they are rounded, and whoever reads them multiplies by it. A scale may serve a whole layer, or each KV head has its own.
#
# This torch stops at 448 by itself; older ones made nan of larger numbers. So limit them yourself, though no check can see it with this torch.
#
# ★☆☆ · core · 8 min

# %% id="ex-quantize"
@exercise
def quantize_fp8(x, scale):
    """`x / scale`, divided in float32, held between -448 and 448, and rounded to torch.float8_e4m3fn.

    x: [tokens, kv_heads, head_dim], any float type. scale: a number, or a tensor [kv_heads], one for each head.
    """
    ### BEGIN SOLUTION
    beside = scale[:, None] if isinstance(scale, torch.Tensor) and scale.dim() else scale
    return (x.float() / beside).clamp(-448.0, 448.0).to(torch.float8_e4m3fn)
    ### END SOLUTION


# %% id="quantize-use"
key = torch.tensor([[[0.0031, 0.9, 17.3, 900.0]]])
for scale in (1.0, 4.0):
    kept = quantize_fp8(key, scale).float() * scale
    print(f"scale {scale:g}:", [round(number, 4) for number in kept.flatten().tolist()])

# %% [markdown] id="quantize-after"
# A larger scale reaches further up, and loses what is smallest.

# %% [markdown] id="attend-intro"
# ## Multiply once, outside the sum
#
# Now attention has to read 8-bit numbers. The plain way: multiply every key and every value by its scale, and go on as in lab 04. That makes a large copy of what was just made small.
#
# A score is a sum of products, and every term has the same factor `key_scale`. What is in every term can stand in front of the sum. The same is true of the values. Where do the two factors go?
#
# ★★☆ · core · 15 min

# %% id="ex-attend"
@exercise
def attend_fp8(query, keys, values, key_scale, value_scale):
    """One token's attention over 8-bit keys and values, which are not multiplied back. Returns [heads, value_dim].

    query: [heads, head_dim] float32. keys: [length, kv_heads, head_dim], values: [length, kv_heads, value_dim], both
    float8_e4m3fn and divided by their scales: numbers, or tensors [kv_heads]. The softmax scale is head_dim ** -0.5.
    Query head h reads KV head h // (heads // kv_heads).
    """
    ### BEGIN SOLUTION
    share = query.shape[0] // keys.shape[1]

    def of_heads(scale):  # [heads, 1]
        return torch.as_tensor(scale).expand(keys.shape[1]).repeat_interleave(share)[:, None]

    k, v = keys.float().repeat_interleave(share, 1), values.float().repeat_interleave(share, 1)
    scores = torch.einsum("hd,thd->ht", query, k) * query.shape[1] ** -0.5 * of_heads(key_scale)
    return torch.einsum("ht,thd->hd", scores.softmax(-1), v) * of_heads(value_scale)
    ### END SOLUTION


# %% id="attend-use"
draw = torch.Generator().manual_seed(9)
k, v = torch.randn(200, 2, 32, generator=draw) * 3, torch.randn(200, 2, 32, generator=draw)
query = torch.randn(8, 32, generator=draw)
for factor in (1, 500):  # keys so many times as large, values so many times as small, and the same scores
    keys, values, asks = k * factor, v / factor, query / factor
    pairs = asks[:, None], keys.transpose(0, 1), values.transpose(0, 1)
    whole = torch.nn.functional.scaled_dot_product_attention(*pairs, enable_gqa=True)[:, 0]
    for scales in ((1.0, 1.0), (0.05 * factor, 0.02 / factor)):
        eight = attend_fp8(asks, quantize_fp8(keys, scales[0]), quantize_fp8(values, scales[1]), *scales)
        off = (eight - whole).abs().max() / whole.abs().max()
        print(f"keys up to {keys.max():7,.1f}, scales {scales[0]:4g} and {scales[1]:g}: off by {off:.0%}")

# %% [markdown] id="attend-after"
# A scale does little for numbers of ordinary size: FP8's steps grow with the number, so it is as fine there with one as without. It saves those beyond 448, and those near 0.


# %% [markdown] id="quality-intro"
# ## What does it cost? Ask the model
#
# A small error in every key may change an answer, or not. So measure: let courier read conversations it has never seen, and see how sure it is of each next token of the right answer. The **perplexity** is 1 if it always is, and 2 if it wavers between two tokens.
#
# First, in the engine's own paged pools: as they are, in fp32, and in FP8 with a scale for each layer, which `calibrate_on` finds from the largest keys and values of a few conversations.
#
# **Predict.** By how many per cent does perplexity rise with FP8?

# %% id="predict-quality"
### BEGIN SOLUTION
my_rise = 1
### END SOLUTION

predict("09-perplexity", my_rise, unit="%")

# %% id="quality"
from kvlab.models import courier_answers, load_courier
from kvlab.serve.quality import Setting, calibrate_on, compare_quality, with_larger_keys

model, tokenizer = load_courier()
answers = courier_answers(tokenizer, 24)
seen = [ids for ids, _ in courier_answers(tokenizer, 4, seed=8)]
found = compare_quality(model, {"FP8": Setting(model, "fp8", calibrate_on(model, seen))}, answers)
for name, one in found.items():
    print(f"{name:10} perplexity {one.perplexity:.3f}, {one.changed:.1%} of the likeliest tokens changed")
rise = 100 * (found["FP8"].perplexity / found["reference"].perplexity - 1)
reveal("09-perplexity", round(rise, 1))

# %% [markdown] id="scales-intro"
# Hardly anything; the next decimal would be chance, with 24 answers. courier's keys are small, so FP8 would hold them even without a scale. Not every model is so kind. Here is the same model with keys 256 times as large and queries 256 times as small: every score is what it was. Now leave the scale out.

# %% id="quality-scales"
loud = with_larger_keys(model, 256)
settings = {
    "no scale": Setting(loud, "fp8"),
    "calibrated": Setting(loud, "fp8", calibrate_on(loud, seen)),
    "a scale a token": Setting(loud, "fp8", "token_head"),
}
found = compare_quality(loud, settings, answers)
for name, one in found.items():
    print(f"{name:16} perplexity {one.perplexity:.3f}, {one.changed:.1%} changed")
assert found["no scale"].perplexity > 1.05 * found["calibrated"].perplexity

# %% [markdown] id="batch-intro"
# Keys beyond 448 were cut off, all to the same number. That is what scales are for.
#
# ## Half the bytes are twice the tokens
#
# The same bytes of GPU memory as 16-bit and as 8-bit blocks, in the simulator of lab 08, on a server so small that it gets tight. Its 1,000 requests are drawn like the assistant's:

# %% id="batch"
from kvlab.memory import KV_BYTES, LLAMA_3_8B, make_trace, tokens_that_fit
from kvlab.memory.lengths import lesson_lengths
from kvlab.serve.simulate import simulate

trace, running = make_trace("assistant", *lesson_lengths(1, 1000)), []
for name, bytes_a_token in (("bf16", LLAMA_3_8B.bytes_per_token), ("FP8", LLAMA_3_8B.bytes_per_token // 2)):
    tokens = tokens_that_fit(KV_BYTES // 32, bytes_a_token)  # 2 of the 64 GiB
    report = simulate(trace, capacity=tokens)
    running.append(report.running)
    print(f"{name:5} {tokens:7,} tokens, {running[-1]:5.1f} customers at a time, {report.preemptions} had to leave")
print(f"{running[1] / running[0]:.1f} times as many customers")

# %% [markdown] id="window-intro"
# ## Some layers look back only so far
#
# In Mistral's first model each token sees only the last 4,096, and in newer Gemma models and GPT-OSS many layers see even fewer. What lies behind such a **sliding window** is read by nobody any more, and still holds blocks.
#
# Give them back. But position `p` must still be found in entry `p // block_size`, so entries stay where they are. They name the **null block**: one that is set aside, is never taken and never read. Each entry is one more owner of it, so that ending a conversation needs no special case.
#
# How far may you go? When `num_tokens` tokens are written, the next one stands at position `num_tokens` and sees itself and the `window - 1` before it.
#
# ★★☆ · core · 15 min

# %% id="ex-release"
@exercise
def release_window(table, num_tokens, window, block_size, pool, null_block):
    """Put `null_block` in place of each block of which no later token sees anything; returns how many went now.

    table: a list, changed in place. pool: has share(blocks) and release(blocks). Entries that are null already stay.
    """
    ### BEGIN SOLUTION
    gone = max(0, num_tokens - window + 1) // block_size
    leaving = [block for block in table[:gone] if block != null_block]
    pool.share([null_block] * len(leaving))
    pool.release(leaving)
    table[:gone] = [null_block] * gone
    return len(leaving)
    ### END SOLUTION


# %% [markdown] id="window-predict"
# **Predict.** A conversation grows to 8,000 tokens, in blocks of 16, behind a window of 1,024. How many blocks does it hold at most, the null block aside?

# %% id="predict-window"
### BEGIN SOLUTION
my_blocks = 64
### END SOLUTION

predict("09-window", my_blocks, unit="blocks")

# %% id="window-use"
from kvlab.memory import BlockPool, append_tokens

pool = BlockPool(600, null_block=True)
table, most = [], 0
for written in range(8000):
    append_tokens(table, written, 1, pool, 16)
    most = max(most, sum(block != 0 for block in table))
    release_window(table, written + 1, 1024, 16, pool, 0)
print(f"{len(table)} entries in the table, {most} blocks held at most, {pool.num_free} of {pool.num_blocks} free")
reveal("09-window", most, exact="because the window rarely begins where a block does, and reaches into one more")

# %% [markdown] id="hybrid"
# In a **hybrid** model, full layers still need the block that a window has left. So each kind of layer gets a table of its own, and both draw on one pool. At 8,000 tokens the window just fits its blocks:

# %% id="hybrid-use"
from kvlab.memory import HybridManager

groups = HybridManager(BlockPool(1200, null_block=True), 16, windows=[None, 1024])
groups.admit("ana", 8000)
groups.advance("ana", 8000, 8000)
for kind, group in zip(("full layers", "window layers"), groups.groups):
    held = sum(block != 0 for block in group.table("ana"))
    print(f"{kind:14} {held} blocks")

# %% [markdown] id="latents-intro"
# ## One latent for all heads
#
# A DeepSeek model keeps no keys and values at all (*MLA*, lab 01). A token leaves one short vector, its **latent**, and one small **rotary key** that carries its position. Head `h` makes its key from the latent when it needs it, `key_up[h] @ latent` with the rotary key behind it, and its value, `value_up[h] @ latent`.
#
# For the pool that is one head whose "key" is latent and rotary key side by side. Blocks, tables and slots stay as they are. Write the new tokens' rows, gather all of them through the table, and attend: several new tokens may come at once, as in lab 04.
#
# ★★★ · core · 25 min

# %% id="ex-latents"
@exercise
def page_latents(query, latent, rotary, pool, slots, table, length, key_up, value_up, scale=None):
    """Write the new tokens and attend over all `length` tokens. Returns [new, heads, value_dim].

    query: [new, heads, key_dim + rope_dim], of the last `new` tokens. latent: [new, latent_dim], rotary: [new,
    rope_dim], to be written side by side into `slots` [new]. pool: [num_blocks, block_size, 1, latent_dim + rope_dim].
    table: a list of just the blocks that `length` tokens need. key_up: [heads, key_dim, latent_dim], value_up: [heads,
    value_dim, latent_dim]. scale: (key_dim + rope_dim) ** -0.5 if None.
    """
    ### BEGIN SOLUTION
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    pool.view(-1, pool.shape[-1])[slots] = torch.cat([latent, rotary], -1)
    rows = pool[torch.tensor(table)].reshape(-1, pool.shape[-1])[:length]
    latents, rotaries = rows.split([latent.shape[1], rotary.shape[1]], -1)
    keys = torch.einsum("hkc,tc->thk", key_up, latents)
    keys = torch.cat([keys, rotaries[:, None].expand(-1, len(key_up), -1)], -1)
    values = torch.einsum("hvc,tc->thv", value_up, latents)
    position = torch.arange(length - len(query), length)[:, None]
    scores = torch.einsum("nhd,thd->hnt", query, keys) * scale
    scores = scores.masked_fill(torch.arange(length) > position, float("-inf"))
    return torch.einsum("hnt,thv->nhv", scores.softmax(-1), values)
    ### END SOLUTION


# %% [markdown] id="absorb"
# Making a key for each of 128 heads from each latent of a long context, in every step, is a lot of work. It can be left out: `q · (key_up[h] @ latent)` is `(q @ key_up[h]) · latent`. The projection moves to the query, once, and the output makes up for the values. That is called **absorbing**, and it is again a factor taken out of a sum.

# %% id="absorb-use"
from kvlab.compute import attend_absorbed

heads, key_dim, rope_dim, latent_dim = 8, 16, 8, 24
key_up, value_up = (torch.randn(heads, key_dim, latent_dim, generator=draw) for _ in range(2))
latent_pool = torch.zeros(4, 16, 1, latent_dim + rope_dim)
new = [torch.randn(40, size, generator=draw) for size in (latent_dim, rope_dim)]
slots = torch.tensor([[3, 0, 2][t // 16] * 16 + t % 16 for t in range(40)])
asked = torch.randn(40, heads, key_dim + rope_dim, generator=draw)
one = page_latents(asked, *new, latent_pool, slots, [3, 0, 2], 40, key_up, value_up)
other = attend_absorbed(asked, latent_pool, [3, 0, 2], 40, key_up, value_up)
print("expanded and absorbed agree:", torch.allclose(one, other, atol=1e-4))

# %% [markdown] id="compare"
# ## Side by side
#
# One conversation that fills its context, in the shape of our 8B assistant. The last three rows begin from the second:

# %% id="figure-smaller"
from dataclasses import replace

from kvlab.memory import CONTEXT
from kvlab.view import smaller_caches

ways = {
    "a KV head for each query head": replace(LLAMA_3_8B, kv_heads=32),
    "8 KV heads (as it is)": LLAMA_3_8B,
    "... in 8 bits": replace(LLAMA_3_8B, bytes_per_number=1),
    "... 24 layers with windows": replace(LLAMA_3_8B, window=1024, window_layers=24),
    "... one latent a layer": replace(LLAMA_3_8B, latent_dim=512, rope_dim=64),
}
smaller_caches(ways, CONTEXT, KV_BYTES)

# %% [markdown] id="compare-after"
# They multiply: a model can have latents and 8 bits. All but the 8 bits are decided when a model is trained. And paging is not in this list, because it does something else.
#
# ## Bug hunt: the answers are a little dull
#
# A colleague brings FP8 into his server. All tests pass. On Monday the assistant answers fluently and often beside the point. Here is his attention, beside yours, with three pairs of scales:

# %% id="hunt-code"
def colleague(query, keys, values, key_scale, value_scale):
    return attend_fp8(query, keys, values, value_scale, key_scale)


for key_scale, value_scale in ((1.0, 1.0), (0.05, 0.05), (0.05, 0.02)):
    kept = quantize_fp8(k, key_scale), quantize_fp8(v, value_scale), key_scale, value_scale
    his, yours = colleague(query, *kept), attend_fp8(query, *kept)
    print(f"scales {key_scale}, {value_scale}: the outputs differ by up to {(his - yours).abs().max():.3f}")

# %% [markdown] id="hunt-question"
# His tests took one of the first two lines. Why did they see nothing?

# %% id="hunt-answer"
### BEGIN SOLUTION
cause = "a"
### END SOLUTION

recall("09-bug-hunt", cause)

# %% [markdown] id="hunt-fix"
# Write the test that he lacks: scales for which a swap cannot go unseen.

# %% id="hunt-solve"
### BEGIN SOLUTION
my_scales = (0.5, 0.1)
### END SOLUTION

if my_scales is not ...:
    kept = quantize_fp8(k, my_scales[0]), quantize_fp8(v, my_scales[1]), *my_scales
    same = torch.allclose(colleague(query, *kept), attend_fp8(query, *kept), atol=1e-3)
    print("not yet: the swap goes unseen with these" if same else "your test sees the swap")

# %% [markdown] id="say"
# ## Say it out loud
#
# In forty seconds: what makes the KV cache itself smaller, what does each way cost, and what has paging to do with it?

# %% id="say-it"
### BEGIN SOLUTION
my_words = """Paging does not: it removes the waste around the tokens. FP8 halves the bytes; a scale brings numbers into
range and is folded in once, and we measure the quality as perplexity. GQA and MLA latents are decided in training. With
a window, blocks behind it go back to the pool."""
### END SOLUTION

say_it("09", my_words)

# %% id="close-lab"
close_lab("09")

# %% [markdown] id="read-on"
# ## Read on
#
# - The formats: Micikevicius et al. 2022, *FP8 Formats for Deep Learning*, [arXiv 2209.05433](https://arxiv.org/abs/2209.05433).
# - Sliding windows: Jiang et al. 2023, *Mistral 7B*, [arXiv 2310.06825](https://arxiv.org/abs/2310.06825).
# - Latents: *DeepSeek-V2*, section 2.1, [arXiv 2405.04434](https://arxiv.org/abs/2405.04434).
# - Next comes [lab 10](10_other_homes.ipynb): where blocks live when the GPU is full.

# %% [markdown] id="title"
# # 04 · Paged attention in PyTorch
#
# *Ninety minutes. Needs PyTorch; no GPU needed.*

# %% [markdown] id="able"
# ## What you will be able to do
#
# - write keys and values into a block pool, and read them back through a block table;
# - compute attention for a batch in which no two conversations have the same length;
# - do it block by block, without ever seeing all scores at once;
# - run an unmodified Hugging Face model on your pool, and show that its words stay the same.

# %% id="setup" tags=["nbval-ignore-output"]
from kvlab.course import *

open_lab("04")

# %% id="setup-torch"
import torch

seed = torch.Generator().manual_seed(4)

# %% [markdown] id="recall"
# ## Recall
#
# From labs 01 and 03, without looking. Run the cell to see the questions, then put a letter in quotes in place of each `...`.

# %% id="recall-questions"
### BEGIN SOLUTION
slot = "b"
last_block = "a"
heads = "c"
### END SOLUTION

recall("04-slot", slot)
recall("04-last-block", last_block)
recall("04-kv-heads", heads)

# %% [markdown] id="problem"
# ## The table is right, and there is nothing in the blocks yet
#
# Until now a block was a number. In a model it is memory: for each layer one tensor of keys and one of values, the **pools**, with the shape
# `[num_blocks, block_size, kv_heads, head_dim]`. Two things must happen in each layer of each step: the new tokens' keys and values go *in*, and
# attention reads everything a conversation has said *out*.
#
# Writing comes first. Many conversations take a step together, so the new tokens lie in one long tensor, and a second tensor says which slot each goes to. Some rows are only padding, and
# carry slot **-1: write nothing**.
#
# ★★☆ · core · 10 min

# %% id="ex-write-kv"
@exercise
def write_kv(key_pool, value_pool, key, value, slots):
    """Write each token's key and value into its slot of the pools, in place; slot -1 writes nothing.

    key_pool, value_pool: [num_blocks, block_size, kv_heads, head_dim]. key, value: [num_tokens, kv_heads, head_dim].
    Values may have another head_dim than keys. slots: [num_tokens] int64, block * block_size + offset.
    """
    ### BEGIN SOLUTION
    real = slots >= 0
    block_size = key_pool.shape[1]
    block, offset = slots[real] // block_size, slots[real] % block_size
    key_pool[block, offset] = key[real]
    value_pool[block, offset] = value[real]
    ### END SOLUTION


# %% [markdown] id="gather-intro"
# ## Read a conversation back through its table
#
# Attention wants the keys of one conversation in order, as one tensor. They lie in blocks all over the pool. Collect them: first block of the table first, and not a token more than `length`. What lies behind is another
# conversation's past (invariant **I6**: it must never matter).
#
# ★★☆ · core · 10 min

# %% id="ex-gather-kv"
@exercise
def gather_kv(pool, table, length):
    """The first `length` tokens of a sequence with block table `table` (a list), as [length, kv_heads, head_dim].

    Entries of the table behind the blocks that are needed mean nothing, and may be any number.
    """
    ### BEGIN SOLUTION
    blocks_used = -(-length // pool.shape[1])
    pages = pool[torch.tensor(table[:blocks_used], dtype=torch.int64)]
    return pages.flatten(0, 1)[:length]
    ### END SOLUTION


# %% id="round-trip"
keys, values = torch.full((8, 4, 2, 16), torch.nan), torch.full((8, 4, 2, 16), torch.nan)  # 8 blocks of 4 tokens
table, length = [5, 1, 6], 10
slots = torch.tensor([table[i // 4] * 4 + i % 4 for i in range(length)])
said = torch.randn(length, 2, 16, generator=seed)
write_kv(keys, values, said, said, slots)
print("read back unchanged:", torch.equal(gather_kv(keys, table, length), said))
print("slots still empty:", int(keys[:, :, 0, 0].isnan().sum()), "of", 8 * 4)

# %% [markdown] id="attention-intro"
# ## A step holds prompts and single tokens side by side
#
# What attention does for one query takes three lines: each key gets a *score*, `query · key * scale`; `softmax` turns the scores into weights that are positive and
# add up to 1, each being `exp(score)` over the sum of all of these; and the output is the sum of the values, each times its weight. (`scale` is `head_dim ** -0.5`, so that long vectors do not
# have large scores for their length alone.)
#
# What is new here is the batch. In a server it is no rectangle: one conversation brings a whole prompt, the next only the token it wrote last. So the queries of all are laid
# **back to back** in one tensor, without padding, and `query_start` says where each begins:
#
# `query_start = [0, 3, 4]`: three queries of the first, one of the second.
#
# The queries of a conversation are its *last* tokens. Say it has 10 tokens by now, its **context length**, and 3 of them are queries: they stand at positions 7, 8 and 9, and each sees itself and everything before it. That is the causal mask with an
# **offset**:

# %% id="mask-offset"
context, queries = 10, 3
for position in range(context - queries, context):
    seen = "x" * (position + 1) + "." * (context - position - 1)
    print(f"query at position {position} sees keys 0 to {position}: {seen}")

# %% [markdown] id="attention-task"
# Each query head `h` reads KV head `h // (heads // kv_heads)`: several share one, as in lab 01. A row of padding may have context length 0 and still a query: it
# sees nothing, and its output is 0.
#
# A loop over the conversations is fine; one over heads or tokens works too, and is slow. Some models pass more `options`
# (windows, soft caps). Ours has none: ignore them.
#
# ★★★ · core · 25 min

# %% id="ex-paged-attention"
@exercise
def paged_attention(query, key_pool, value_pool, block_tables, query_start, context_lengths, *, scale=None, **options):
    """Causal attention of a flattened batch, [num_tokens, heads, head_dim].

    query: [num_tokens, heads, head_dim], sequences back to back; those of sequence s are rows query_start[s] to
    query_start[s + 1] - 1, and are the last tokens of its context. block_tables: [num_seqs, max_blocks]; entries beyond
    a sequence's blocks mean nothing. context_lengths: [num_seqs]. Values may have another head_dim than keys, and so
    has the result then. scale: head_dim ** -0.5 if None.
    """
    ### BEGIN SOLUTION
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    output = torch.zeros(*query.shape[:2], value_pool.shape[-1], dtype=query.dtype)
    for s, length in enumerate(context_lengths.tolist()):
        rows = slice(int(query_start[s]), int(query_start[s + 1]))
        queries = query[rows].transpose(0, 1)  # [heads, q, head_dim]
        if length == 0 or queries.shape[1] == 0:
            continue
        table = block_tables[s].tolist()
        share = query.shape[1] // key_pool.shape[2]
        key = gather_kv(key_pool, table, length).transpose(0, 1).repeat_interleave(share, 0)  # [heads, length, head_dim]
        value = gather_kv(value_pool, table, length).transpose(0, 1).repeat_interleave(share, 0)
        position = torch.arange(length - queries.shape[1], length)  # of each query
        later = torch.arange(length) > position[:, None]
        scores = (queries @ key.transpose(1, 2) * scale).masked_fill(later, float("-inf"))
        output[rows] = (scores.softmax(-1) @ value).transpose(0, 1)
    return output
    ### END SOLUTION


# %% [markdown] id="predict-changed"
# ## Do the words change?
#
# People often fear that paging changes the answers. Let us ask a model. **courier** is the course's own: a small Llama, trained on conversations of the
# food-delivery app, loaded from disk by Hugging Face's code, of which we change nothing. It is tiny, and not always right: here we compare tokens, not truth. First we let `generate()` answer on its usual, contiguous cache.
# Then the same model reads through your attention, from a pool whose blocks are handed out in shuffled order.
#
# **Predict.** What share of the tokens in the answers changes, in per cent?

# %% id="predict-changed-cell"
### BEGIN SOLUTION
my_changed = 0
### END SOLUTION

predict("04-changed", my_changed, unit="%")

# %% id="courier-contiguous"
from kvlab.models import EXAMPLE_ORDER, load_courier

model, tokenizer = load_courier()
print(EXAMPLE_ORDER)

# %% id="courier-asked"
prompts, usual = [], []
for question in ("Where is my courier?", "What did I order?", "Thank you"):
    chat = [{"role": "system", "content": EXAMPLE_ORDER}, {"role": "user", "content": question}]
    prompts.append(tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False))
    out = model.generate(torch.tensor([prompts[-1]]), max_new_tokens=100, do_sample=False)
    usual.append(out[0, len(prompts[-1]) :].tolist())
    print(f"{question}  ->  {tokenizer.decode(usual[-1], skip_special_tokens=True)}")

# %% [markdown] id="plug-in"
# Now the paged one. `Engine` takes requests, plans one flattened batch per step, and gives the model a cache object that writes into our pools. They
# start full of NaN: whoever reads a slot that was never written will hear of it.

# %% id="courier-paged"
import random

from kvlab.memory import BlockManager, BlockPool
from kvlab.serve import Engine

pool = BlockPool(64)
blocks = pool.take(64)
random.Random(4).shuffle(blocks)
pool.release(blocks)  # from here on they come out in this order

# %% id="courier-submitted"
engine = Engine(
    model, 64, manager=BlockManager(pool, 16), attention=paged_attention, fill=float("nan"), checked=True
)
answers = [engine.submit(prompt, max_new_tokens=100) for prompt in prompts]
print("blocks of the first conversation:", end=" ")
engine.step()
print(engine.manager.table(answers[0].id))

# %% id="courier-compared"
from itertools import zip_longest

engine.run()
total = sum(len(old) for old in usual)
pairs = [pair for own, old in zip(answers, usual) for pair in zip_longest(own.tokens, old)]
changed = sum(own != old for own, old in pairs)
print(f"{changed} of {total} tokens changed, in {engine.steps} steps; the longest answer has {max(map(len, usual))}")
reveal("04-changed", 100 * changed / total)

# %% [markdown] id="plug-in-after"
# Only the *place* of keys and values is different, and attention does not ask where a key was. All three conversations took each step together,
# so the steps are as many as the longest answer has tokens. That is **I12**: paging never changes the tokens.
#
# An expert will ask for one word more. Whoever adds numbers in another order rounds differently, with paging as without. In fp32, numbers of 32 bits, the difference is so small that no
# token here tipped over. In bf16, 16 bits with far fewer digits, two words that are nearly equally likely can change places.
#
# ## Attention can forget each block after reading it
#
# Your attention gathers a conversation into one tensor first: every key is read, written to a copy, and read again. A kernel reads each block once, where it lies. But a softmax
# needs the sum over *all* scores before it can weigh the first value. How can it start?
#
# Softmax gives the same weights if a number is taken off all scores. Take off the largest, and no `exp` grows too large for a float. So keep three things while walking over the blocks: the largest score so far, the sum of `exp(score - largest)`, and the sum of the values, each times its `exp(score - largest)`. When a block brings a
# larger score, both sums are too big: multiply them by `exp(old largest - new largest)` and go on. At the end divide the second by the first. This is the **online softmax**.
#
# Return also the log of the whole sum of `exp(score)`, its **log-sum-exp**, which is `largest + log(sum)`. With it, lab 05 joins parts of a conversation that were attended apart.
#
# ★★★ · core · 20 min

# %% id="ex-attend-blockwise"
@exercise
def attend_blockwise(query, key_pool, value_pool, table, length, scale=None):
    """One token's attention over the first `length` tokens of its sequence, one block at a time.

    query: [heads, head_dim]. Entries of `table` behind the blocks that are needed mean nothing. Returns the output
    [heads, head_dim of the values] and the log of the sum of exp(score) [heads]; for length 0 these are 0 and -inf.
    """
    ### BEGIN SOLUTION
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    heads, block_size = query.shape[0], key_pool.shape[1]
    share = heads // key_pool.shape[2]
    largest = torch.full((heads,), float("-inf"))
    total, output = torch.zeros(heads), torch.zeros(heads, value_pool.shape[-1])
    for start in range(0, length, block_size):
        block, filled = table[start // block_size], min(block_size, length - start)
        key = key_pool[block, :filled].repeat_interleave(share, 1)  # [filled, heads, head_dim]
        value = value_pool[block, :filled].repeat_interleave(share, 1)
        scores = torch.einsum("hd,thd->ht", query, key) * scale
        higher = torch.maximum(largest, scores.amax(1))
        shrink, weights = torch.exp(largest - higher), torch.exp(scores - higher[:, None])
        total = total * shrink + weights.sum(1)
        output = output * shrink[:, None] + torch.einsum("ht,thd->hd", weights, value)
        largest = higher
    if length == 0:
        return output, largest
    return output / total[:, None], largest + total.log()
    ### END SOLUTION


# %% [markdown] id="measure"
# ## Measure: reading is the work, and it grows with every token
#
# How much does one decode step gather? For each conversation its whole context, in every layer. Take the assistant of lab 01: 15 GiB of weights, and 128 KiB for each token.
#
# **Predict.** 64 conversations decode together. From which context length on does a step read more cache than weights?

# %% id="predict-crossing"
### BEGIN SOLUTION
my_crossing = 2000
### END SOLUTION

predict("04-crossing", my_crossing, unit="tokens")

# %% id="figure-gathered"
from kvlab.memory import LLAMA_3_8B, WEIGHT_BYTES
from kvlab.view import gathered_bytes

print(f"{WEIGHT_BYTES / 2**30:.0f} GiB of weights, {LLAMA_3_8B.bytes_per_token / 1024:.0f} KiB a token")
reveal("04-crossing", round(WEIGHT_BYTES / (64 * LLAMA_3_8B.bytes_per_token)))
gathered_bytes(LLAMA_3_8B.bytes_per_token, WEIGHT_BYTES, batches=(1, 16, 64))

# %% [markdown] id="hunt"
# ## Bug hunt: the customer in the first block
#
# A colleague knows that slot -1 must not reach the last slot, and found a short way. The test of the last slot passes. On Saturday, one customer in hundreds gets nonsense, and always the one whose first token lies in slot 0.

# %% id="hunt-code"
def short_write(pool, rows, slots):
    flat = pool.view(-1, *pool.shape[2:])
    flat[slots.clamp(min=0)] = rows


pool = torch.zeros(4, 4, 1, 1)  # 16 slots
short_write(pool, torch.ones(4, 1, 1), torch.tensor([0, 1, 2, 3]))  # a customer owns the first block
short_write(pool, torch.tensor([7.0, 9.0]).view(2, 1, 1), torch.tensor([5, -1]))  # one token, and a row of padding
print("the first block holds", pool[0].flatten().tolist(), "and the last slot", pool[3, 3].item())

# %% id="hunt-question"
### BEGIN SOLUTION
cause = "b"
### END SOLUTION

recall("04-bug-hunt", cause)

# %% [markdown] id="hunt-fix"
# Mend it: padding must write nothing, and the other rows must still be written.

# %% id="hunt-solve"
def mended_write(pool, rows, slots):
    """Like short_write, but slot -1 writes nothing."""
    ### BEGIN SOLUTION
    real = slots >= 0
    short_write(pool, rows[real], slots[real])
    ### END SOLUTION


pool = torch.zeros(4, 4, 1, 1)
mended_write(pool, torch.tensor([9.0, 7.0, 8.0]).view(3, 1, 1), torch.tensor([-1, 5, 0]))
written = {slot: pool.view(-1)[slot].item() for slot in range(16) if pool.view(-1)[slot]}
print("written:", written, "- as it should be" if written == {0: 8.0, 5: 7.0} else "- not yet: {0: 8.0, 5: 7.0}")

# %% [markdown] id="say"
# ## Say it out loud
#
# In thirty seconds: does paging change the outputs? What happens when a token is written, when it is read, and how does a kernel walk over the blocks?

# %% id="say-it"
### BEGIN SOLUTION
my_words = """No. Only the place of keys and values changes. New ones are written to slots that the block table gives, and
attention gathers them through the table, in order and no further than the context length. A kernel goes block by block,
with a running largest score and sum."""
### END SOLUTION

say_it("04", my_words)

# %% id="close-lab"
close_lab("04")

# %% [markdown] id="read-on"
# ## Read on
#
# - The online softmax: Milakov and Gimelshein 2018, [arXiv 1805.02867](https://arxiv.org/abs/1805.02867); Dao et al., *FlashAttention*, [arXiv 2205.14135](https://arxiv.org/abs/2205.14135).
# - Section 4.1 of Kwon et al., SOSP 2023, [arXiv 2309.06180](https://arxiv.org/abs/2309.06180).
# - Next comes [lab 05](05_triton.ipynb): the same attention as a Triton kernel that reads each block once.

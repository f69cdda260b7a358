# %% [markdown] id="title"
# # 01 · What a token costs
#
# *Sixty minutes. No GPU needed.*

# %% [markdown] id="able"
# ## What you will be able to do
#
# - compute what one token costs for a model you have just been handed, from four numbers of its configuration;
# - say how many tokens a GPU holds beside the weights;
# - explain why a server wants many conversations at once, and what stops it;
# - tell which ideas make the cache smaller and which do not.

# %% id="setup" tags=["nbval-ignore-output"]
from kvlab.course import *

open_lab("01")

# %% [markdown] id="recall"
# ## Recall
#
# Three questions from lab 00. Run the cell to see them, then answer from memory: put a letter in quotes, such as `"a"`, in place of each `...`.

# %% id="recall-questions"
### BEGIN SOLUTION
why_kv = "b"
what_grows = "c"
which_mode = "a"
### END SOLUTION

recall("01-why-kv", why_kv)
recall("01-what-grows", what_grows)
recall("01-mode", which_mode)

# %% [markdown] id="problem"
# ## The assistant may not forget a token it has read
#
# A customer writes "where is my order?". To choose the first word of the answer, the model compares the newest token with every
# token before it: the system prompt, the order, the question. The comparison is *attention*. In each layer it needs two vectors of every earlier
# token, a **key** (does this token matter to me?) and a **value** (what does it tell me?).
#
# Both depend only on the tokens up to that one, so they never change again. A model can compute them anew at every step, or keep
# them. Count what that means for a prompt of 200 tokens and an answer of 100.

# %% id="why-cache"
prompt, answer = 200, 100
anew = sum(prompt + step for step in range(answer))  # step 0 reads the prompt, step 1 one token more, ...
kept = prompt + answer - 1  # every token once; the last one written is never read again
print(f"computed anew: {anew:,} tokens through the model; kept: {kept}; {anew / kept:.0f} times the work")

# %% [markdown] id="why-cache-after"
# So every server keeps them. That memory is the **KV cache**, and it is the only part of a running model that grows
# while it talks.

# %% [markdown] id="price"
# ## One token costs 128 KiB
#
# How large is that pair of vectors? The assistant has the shape of Llama 3 8B:
#
# | | |
# |---|---|
# | layers | 32 |
# | query heads | 32 |
# | KV heads | 8 |
# | numbers in one head's vector | 128 |
# | bytes per number (bf16) | 2 |
#
# (*bf16* is a number of two bytes. It reaches as far as the usual *fp32*, which has four, and keeps fewer digits.)
#
# Each layer keeps a key *and* a value, one vector for each **KV head**. Queries are used once and thrown away. In the first
# transformers every query head had a key and a value of its own (*multi-head attention*, MHA). Here four query heads share one pair: *grouped-query
# attention*, GQA. With a single pair for all heads it is called *multi-query attention*, MQA. One formula serves all three.
#
# ★☆☆ · core · 5 min

# %% id="ex-bytes-per-token"
@exercise
def bytes_per_token(layers, kv_heads, head_dim, bytes_per_number=2):
    """Bytes of KV cache that one token takes in all layers together."""
    ### BEGIN SOLUTION
    keys_and_values = 2
    return keys_and_values * layers * kv_heads * head_dim * bytes_per_number
    ### END SOLUTION


# %% id="price-of-models"
KIB = 1024
models = {
    "Llama 3 8B (GQA)  ": (32, 8, 128),
    "Llama 3 8B, if MHA": (32, 32, 128),
    "Llama 3 8B, if MQA": (32, 1, 128),
    "OPT-13B (MHA)     ": (40, 40, 128),
}
for name, shape in models.items():
    print(f"{name}  {bytes_per_token(*shape) / KIB:4.0f} KiB a token")

# %% [markdown] id="price-after"
# The assistant pays 128 KiB for each token, and OPT-13B, the model in the paper that this course follows, pays 800 KiB although it is
# not even twice as large.
#
# ## So a GPU holds half a million tokens
#
# The GPU is sold with 80 GB and reports 80 GiB. The weights take 15 GiB, the running computation 1. What remains for the cache is 64 GiB, a round number that we keep for
# the whole course. (A cautious server keeps more back: vLLM plans with nine tenths of a card, more or less, unless it is told otherwise.)
#
# **Predict.** Lab 00 told you how many tokens of the assistant that is. How many tokens of OPT-13B would fit in the same 64 GiB?

# %% id="predict-tokens"
### BEGIN SOLUTION
my_tokens = 80_000
### END SOLUTION

predict("01-tokens", my_tokens, unit="tokens")

# %% [markdown] id="fit"
# A token fits whole or not at all, so round down.
#
# ★☆☆ · core · 3 min

# %% id="ex-tokens-that-fit"
@exercise
def tokens_that_fit(memory_bytes, bytes_per_token):
    """Whole tokens that fit in `memory_bytes`, at `bytes_per_token` each."""
    ### BEGIN SOLUTION
    return memory_bytes // bytes_per_token
    ### END SOLUTION


# %% id="fit-use"
from kvlab.memory import CONTEXT, KV_BYTES, LLAMA_3_8B, WEIGHT_BYTES, lesson_trace

GIB = 2**30
token = bytes_per_token(32, 8, 128)
assert token == LLAMA_3_8B.bytes_per_token
tokens = tokens_that_fit(KV_BYTES, token)
left = 80 * GIB - WEIGHT_BYTES - KV_BYTES
print(f"80 GiB: {WEIGHT_BYTES / GIB:.0f} for the weights, {KV_BYTES / GIB:.0f} for the cache, {left / GIB:.0f} to compute in")
print(f"{KV_BYTES / GIB:.0f} GiB of cache hold {tokens:,} tokens")
print(f"one conversation of {CONTEXT:,} tokens: {CONTEXT * token / GIB:.0f} GiB, so {tokens // CONTEXT} of them fit")
print(f"the longest of the 200 conversations has {max(r.total for r in lesson_trace()):,} tokens")
reveal("01-tokens", tokens_that_fit(KV_BYTES, bytes_per_token(40, 40, 128)))

# %% [markdown] id="fit-after"
# There are the 64 conversations of lab 00: the server reserved 8,192 tokens for each. None of the 200 is even half as long. The left panel shows the answers of the 200 simulated
# conversations, the right one those of **courier**, a small support model that comes with the course and answers real questions in lab 04. Nobody chose its lengths.

# %% id="figure-lengths"
from kvlab.models import courier_trace
from kvlab.view import answer_histograms

answer_histograms({"simulated": lesson_trace(), "courier": courier_trace()})

# %% [markdown] id="step"
# ## Every step reads all the weights, so company is cheap
#
# Why not simply let customers queue? Because of how a GPU spends its time while a model writes.
#
# To write one token, the GPU reads every weight once, and every key and value of the conversation once. Little is computed with them: a handful of operations
# for each number read. So the time of a step is the time to *read*. If sixteen conversations take the step together, the weights are read
# once for all of them, and each conversation adds only its own keys and values. Writing token by token like this is called *decoding*.
#
# Write the time of one step: everything that must be read, over the rate at which the memory can deliver it. The rate is in bytes per second.
#
# ★★☆ · core · 8 min

# %% id="ex-decode-step-seconds"
@exercise
def decode_step_seconds(weight_bytes, kv_bytes, bandwidth):
    """Seconds of one decode step that reads all weights and `kv_bytes` of cache (of all conversations together)."""
    ### BEGIN SOLUTION
    return (weight_bytes + kv_bytes) / bandwidth
    ### END SOLUTION


# %% [markdown] id="predict-speedup"
# **Predict.** An A100 reads about 2 TB per second (from lab 08 on we take its data sheet's number, a little more). One conversation alone gets 123 tokens per second from it. How many tokens per second do 64 conversations
# get *together*, each 1,267 tokens long (the mean of the 200 in lab 00)?

# %% id="predict-speedup-cell"
### BEGIN SOLUTION
my_rate = 4000
### END SOLUTION

predict("01-rate", my_rate, unit="tokens per second")

# %% id="throughput"
from kvlab.memory import BANDWIDTH, published_table  # bytes per second, an A100

rate, each = {}, round(sum(r.total for r in lesson_trace()) / 200)
limits = {row.policy: row.fit for row in published_table(lesson_trace())[:3]}  # the walls of lab 00
for batch in (1, 16, *limits.values()):
    seconds = decode_step_seconds(WEIGHT_BYTES, batch * each * token, BANDWIDTH)
    rate[batch] = batch / seconds
    print(f"batch {batch:3}, {each:,} tokens each: {1000 * seconds:5.1f} ms a step, {rate[batch]:6,.0f} tokens per second")
print(f"a step of 64 takes {64 / rate[64] * rate[1]:.1f} times as long as a step of one")
reveal("01-rate", rate[64])

# %% [markdown] id="throughput-after"
# Were the caches free to read, 64 conversations would get 64 times the rate of one. They are not, and still each of them waits only 1.6 times as long for its next token.

# %% [markdown] id="measure"
# ## Throughput grows with the batch until the memory is full
#
# The figure draws the same formula for every batch size. The curve rises steeply while the weights dominate, and flattens once the cache is
# most of what is read. The vertical lines are walls: the largest batch that fits, for the ways of handing out memory that labs 02 and 03 build.

# %% id="figure-batch"
from kvlab.view import batch_throughput

batch_throughput(token, each, WEIGHT_BYTES, KV_BYTES, BANDWIDTH, limits)

# %% [markdown] id="measure-after"
# Same GPU, same model: a server that fits 411 conversations instead of 64 writes about twice as many tokens per second in this
# estimate. Memory is the wall, and the wall is where the rest of this course happens.

# %% [markdown] id="halves"
# ## Which of five ideas halve the price of a token?
#
# 1. keep keys and values in 8 bits instead of 16;
# 2. train the model with 4 KV heads instead of 8;
# 3. hand out the memory in blocks of 16 tokens;
# 4. store the *weights* in 4 bits;
# 5. answer half as many customers at once.
#
# **Predict.** How many of the five halve the bytes per token?

# %% id="predict-halves"
### BEGIN SOLUTION
my_count = 2
### END SOLUTION

predict("01-halves", my_count, unit="of five")

# %% id="reveal-halves"
ideas = {
    "1  8-bit keys and values": bytes_per_token(32, 8, 128, bytes_per_number=1),
    "2  4 KV heads": bytes_per_token(32, 4, 128),
    "3  blocks of 16": bytes_per_token(32, 8, 128),
    "4  4-bit weights": bytes_per_token(32, 8, 128),
    "5  half the customers": bytes_per_token(32, 8, 128),
}
for idea, price in ideas.items():
    print(f"{idea:26}{price / KIB:4.0f} KiB a token")
reveal("01-halves", sum(price * 2 == token for price in ideas.values()))

# %% [markdown] id="halves-after"
# Ideas 1 and 2 change the token. Idea 4 leaves more room for tokens, idea 5 gives up throughput. Idea 3 is the subject of this course,
# and a common misunderstanding: **paging does not make a token cheaper. It removes the waste around the tokens.**

# %% [markdown] id="extra"
# ## Extra: two ways to build a cheaper token
#
# **Latents.** DeepSeek's models, from V2 on, do not keep keys and values at all. Each layer keeps one short vector, the *latent*, from which both are computed
# when they are needed, and one small key that carries the position (*multi-head latent attention*, MLA). DeepSeek-V3 has 61 layers, a latent of 512
# numbers and a position key of 64.
#
# ★★☆ · extra · 8 min

# %% id="ex-latent-bytes-per-token"
@exercise
def latent_bytes_per_token(layers, latent_dim, rope_dim, bytes_per_number=2):
    """Bytes one token takes with MLA: per layer, one latent and one position (RoPE) key, shared by all heads."""
    ### BEGIN SOLUTION
    return layers * (latent_dim + rope_dim) * bytes_per_number
    ### END SOLUTION


# %% [markdown] id="windows"
# **Windows.** In some layers of Gemma 2 and 3, and in all of Mistral's first model, a token looks back only a fixed number of tokens, say 1,024. Such a layer may drop
# what lies further back. The price now depends on the length, so we count *token-layers*: one token kept in one layer is 1.
#
# ★★☆ · extra · 8 min

# %% id="ex-window-tokens"
@exercise
def window_tokens(context, window, window_layers, full_layers):
    """Token-layers kept for a conversation of `context` tokens: full layers keep all, window layers the last `window`."""
    ### BEGIN SOLUTION
    return full_layers * context + window_layers * min(context, window)
    ### END SOLUTION


# %% id="extra-use"
print(f"DeepSeek-V3: {latent_bytes_per_token(61, 512, 64) / KIB:.1f} KiB a token")
for context in (512, CONTEXT):
    kept = window_tokens(context, window=1024, window_layers=40, full_layers=8)
    print(f"{context:5} tokens in 48 layers, 40 of them windows: {kept / (48 * context):.0%} of the token-layers kept")

# %% [markdown] id="extra-after"
# A long conversation keeps about a quarter of its token-layers, a short one all of them: windows pay off where conversations are long.

# %% [markdown] id="say"
# ## Say it out loud
#
# In thirty seconds, as to a colleague: why does the batch size decide the throughput, and what bounds the batch size?

# %% id="say-it"
### BEGIN SOLUTION
my_words = """Each decode step reads all weights once, whatever the batch, so more requests share that read and throughput
grows. Each request adds its own keys and values, 128 KiB a token here, and they must fit in memory."""
### END SOLUTION

say_it("01", my_words)

# %% id="close-lab"
close_lab("01")

# %% [markdown] id="read-on"
# ## Read on
#
# - Next: [02 Reserve and waste](02_reserve_and_waste.ipynb): how a server manages to fill 64 GiB with 15 % of content.
# - Grouped-query attention: Ainslie et al. 2023, [arXiv 2305.13245](https://arxiv.org/abs/2305.13245).
# - Latent attention: DeepSeek-V2 report, [arXiv 2405.04434](https://arxiv.org/abs/2405.04434).
# - Why reading is the bottleneck: Pope et al., *Efficiently Scaling Transformer Inference*, [arXiv 2211.05102](https://arxiv.org/abs/2211.05102).

# %% [markdown] id="title"
# # 06 · Copy-on-write sampling
#
# *Ninety minutes. Needs PyTorch for courier; no GPU needed.*

# %% [markdown] id="able"
# ## What you will be able to do
#
# - let many answers share their prompt's memory, and copy a block only when two of them part in it;
# - write that copy as a plan, which the GPU carries out later;
# - say what sharing saves, by the paper's definition, and measure it beside its figures;
# - run beam search on shared blocks, with the same words as Hugging Face;
# - find a double free that reference counts do not refuse.

# %% id="setup" tags=["nbval-ignore-output"]
from kvlab.course import *
from kvlab.memory import BLOCK_SIZE, BlockPool, blocks_needed

open_lab("06")

# %% [markdown] id="recall"
# ## Recall
#
# From labs 03 to 05, without looking. Run the cell, then put a letter in quotes in place of each `...`.

# %% id="recall-questions"
### BEGIN SOLUTION
one_release = "b"
same_block = "a"
merge = "c"
### END SOLUTION

recall("06-one-release", one_release)
recall("06-same-block", same_block)
recall("06-merge", merge)

# %% [markdown] id="problem"
# ## Ten drafts of one answer keep ten copies of one prompt
#
# A complaint is delicate, so the support assistant writes ten drafts to choose from. All ten begin with the same 1,000 tokens: the order, the rules, the conversation so far. Each
# draft then has 200 tokens of its own. With the tables of lab 03:

# %% id="unshared"
print(f"{10 * blocks_needed(1000 + 200, BLOCK_SIZE)} blocks of {BLOCK_SIZE} tokens for ten drafts")

# %% [markdown] id="fork-intro"
# ## A second table can name the same blocks
#
# Attention follows a table to its blocks and does not ask who wrote them. So a second draft can read the prompt from where it lies: it needs a **table** of its own, and no block. Only the pool must know: when the first draft
# ends, its blocks are not free as long as another table names them. Lab 03's reference counts are for this.
#
# To make such a second table is to **fork** the sequence. Nothing is copied, so it also works when no block is free. If the pool refuses, let its exception pass, with all counts as they were (**I13**).
#
# It is the pool of lab 03: `take(n)`, `share(blocks)` and `release(blocks)`, each all or nothing, and `ref_count(block)`.
#
# ★☆☆ · core · 5 min

# %% id="ex-fork"
@exercise
def fork(table, pool):
    """A second table, a list of its own, that names the same blocks; each has one owner more from now on."""
    ### BEGIN SOLUTION
    pool.share(table)
    return list(table)
    ### END SOLUTION


# %% id="fork-use"
pool = BlockPool(800)
prompt = pool.take(blocks_needed(1000, BLOCK_SIZE))
drafts = [prompt] + [fork(prompt, pool) for _ in range(9)]
print(f"ten tables, {len(prompt)} blocks, {pool.ref_count(prompt[0])} owners for each")

# %% [markdown] id="cow-intro"
# ## Who may write into the half-filled block?
#
# 1,000 tokens fill 62 blocks and 8 slots of one more. Now every draft wants to write its first token, and each into slot 8 of that same block. The second would overwrite the first, and everybody would read the last.
#
# Invariant **I5** forbids it: nobody writes a block whose count is above 1. Copying that block for each draft at the fork would be safe, and too early: a fork would need free blocks, and a draft that is cancelled before it writes needs no copy at all. So whoever writes makes the copy, and only then: **copy-on-write**. Operating systems do the same with
# the pages of a forked process.

# %% id="last-block"
full, rest = divmod(1000, BLOCK_SIZE)
print(f"{full} full blocks, {rest} tokens in one more")

# %% [markdown] id="predict-copies"
# **Predict.** All ten drafts write their first token, one after the other. How many blocks are copied?

# %% id="predict-copies-cell"
### BEGIN SOLUTION
my_copies = 9
### END SOLUTION

predict("06-copies", my_copies, unit="copies")

# %% [markdown] id="cow-task"
# Make room for one token after the `num_tokens` that a table holds. As in lab 03 you work with numbers only: you *plan*, and somebody else moves keys and values. Return the token's slot, and the copy that must be made before the token is written, as `(old block, new block)`, or `None`. There are three cases:
#
# - the last block is full (or there is none): take a new one;
# - it has room, and others own it too: a new block takes its place in the table, and the old one loses an owner;
# - it has room, and nobody else owns it: write in place.
#
# Change `table` itself. If the pool refuses, table and counts must be as they were (**I13**).
#
# ★★★ · core · 20 min

# %% id="ex-append-with-cow"
@exercise
def append_with_cow(table, num_tokens, pool, block_size):
    """Make room for one token after `num_tokens`; returns (slot, copy), copy being (source, target) or None."""
    ### BEGIN SOLUTION
    copy = None
    if num_tokens % block_size == 0:
        table += pool.take(1)
    elif pool.ref_count(table[-1]) > 1:
        old, new = table[-1], pool.take(1)[0]
        pool.release([old])
        table[-1] = new
        copy = (old, new)
    return table[-1] * block_size + num_tokens % block_size, copy
    ### END SOLUTION


# %% id="first-tokens"
plans = [append_with_cow(table, 1000, pool, BLOCK_SIZE) for table in drafts]
for slot, copy in (plans[0], plans[8], plans[9]):
    print(f"write slot {slot:5}, copy first: {copy}")
reveal("06-copies", sum(copy is not None for _, copy in plans), exact="the last owner needs no copy")

# %% [markdown] id="first-tokens-after"
# The last draft is the old block's only owner by then, and writes in place. (In a step's plan a block may be source and target, as `62` would be in `(62, 63)` and `(70, 62)`. Then all sources must be read before any target is written. The course's engine does that; lab 05's kernel does not, and asks that no block be named twice.)

# %% [markdown] id="predict-blocks"
# **Predict.** Now each draft writes the rest of its 200 tokens. Without sharing that took 750 blocks. How many are in use at the end?

# %% id="predict-blocks-cell"
### BEGIN SOLUTION
my_blocks = 200
### END SOLUTION

predict("06-blocks", my_blocks, unit="blocks")

# %% id="all-tokens"
for tokens in range(1001, 1200):
    for table in drafts:
        append_with_cow(table, tokens, pool, BLOCK_SIZE)  # the plans are not carried out here
used = pool.num_blocks - pool.num_free
print(f"{used} blocks in use, {sum(map(len, drafts))} entries in the tables")
reveal("06-blocks", used)
shared = sum(pool.ref_count(block) > 1 for block in drafts[0])
own = len(drafts[0]) - shared
print(f"{shared} full blocks are shared; each draft has {own} of its own: {shared} + 10 * {own} = {shared + 10 * own}")

# %% [markdown] id="play"
# ## Play: who owns which block?
#
# Three answers to a prompt of ten tokens, in blocks of 4, moved by your functions. Go from copy to copy: who pays for it, and who does not? When sample 1 ends, which of its blocks become free?

# %% id="explorer-samples"
from kvlab.view import share_explorer

share_explorer(fork=fork, append_with_cow=append_with_cow).start(event=3)

# %% [markdown] id="saved-intro"
# ## What does sharing save?
#
# The paper's definition: blocks saved, over the blocks there would be **without** sharing. Given the tables of all sequences, compute that share; where there is no block, it is 0.0.
#
# ★★☆ · core · 8 min

# %% id="ex-saved-blocks"
@exercise
def saved_blocks(tables):
    """Blocks saved by sharing, as a share (0 to 1) of the blocks that these tables would need without it."""
    ### BEGIN SOLUTION
    unshared = sum(len(table) for table in tables)
    blocks = len({block for table in tables for block in table})
    return (unshared - blocks) / unshared if unshared else 0.0
    ### END SOLUTION


# %% id="saved-use"
print(f"ten drafts: {saved_blocks(drafts):.1%} saved; two of them: {saved_blocks(drafts[:2]):.1%}")

# %% [markdown] id="beam-intro"
# ## In beam search, answers die while others branch
#
# Sampling forks once. **Beam search** forks at each token: it keeps the `width` likeliest beginnings of an answer, the beams; lets each go on with every possible token; and of all these keeps the best `width` again. One beam may have three children, another none. `parents` says it: with
# `[0, 0, 2]`, next beams 0 and 1 both continue beam 0, next beam 2 continues beam 2, and beam 1 has lost.
#
# Servers with contiguous memory copy whole conversations here, at each token. With tables, only owners change: survivors are forked, losers freed. The order matters: a block that somebody still wants must not be free even for a moment, or the pool may hand it out.
#
# ★★★ · core · 15 min

# %% id="ex-beam-step"
@exercise
def beam_step(tables, parents, pool):
    """The tables of the next beams: number i continues tables[parents[i]].

    It is a new list in a new list, also where a beam has one child. Afterwards the old tables own nothing any more, and each block has as many owners as next tables that name it.
    """
    ### BEGIN SOLUTION
    chosen = [list(tables[parent]) for parent in parents]
    for table in chosen:
        pool.share(table)
    for table in tables:
        pool.release(table)
    return chosen
    ### END SOLUTION


# %% id="explorer-beams"
share_explorer("beams", fork=fork, append_with_cow=append_with_cow, beam_step=beam_step).start(event=3)

# %% [markdown] id="measure"
# ## Measure: the paper's savings
#
# Kwon et al. let OPT-13B answer with 2, 4 and 6 samples, then as many beams, and counted. We replay 60 requests each, drawn from lengths with the means of their two data sets, Alpaca (short) and ShareGPT (long).
#
# **Predict.** Four beams, ShareGPT-like lengths: what share of the blocks is saved, in per cent?

# %% id="predict-beams"
### BEGIN SOLUTION
my_beams = 60
### END SOLUTION

predict("06-beams", my_beams, unit="%")

# %% id="savings"
from kvlab.memory import alpaca_like, replay_beams, replay_samples, sharegpt_like

# takes a few seconds
paper = {"Alpaca": ("6.1 to 9.8", "37.6 to 55.2"), "ShareGPT": ("16.2 to 30.5", "44.3 to 66.3")}
traces = {"Alpaca": alpaca_like(60, seed=6), "ShareGPT": sharegpt_like(60, seed=6)}
saved = {}
for name, trace in traces.items():
    for kind, replay, published in zip(("samples", "beams"), (replay_samples, replay_beams), paper[name]):
        saved[name, kind] = [100 * replay(trace, n).saved for n in (2, 4, 6)]
        ours = ", ".join(f"{share:4.1f}" for share in saved[name, kind])
        print(f"{name:8} {kind:7}  paper {published:12} %   ours, with 2, 4, 6: {ours} %")
reveal("06-beams", round(saved["ShareGPT", "beams"][1], 1))

# %% [markdown] id="savings-after"
# The paper's order: long prompts save more than short ones, beams more than samples. The numbers are near, and not equal: with six answers to short prompts our samples save more than the paper's (13.0 against 9.8 %) and our beams less (45.5 against 55.2 %); to long ones our beams save more (74.2 against 66.3 %).
#
# For samples only the spread of the lengths is our choice. For beams somebody must also say who continues whom, and the paper's searches were not published. Ours are drawn: a beam continues itself in 95 % of its steps, else any of them. We *chose* that number to come near the paper. How much hangs on it, with four beams?

# %% id="loyalty"
# takes a few seconds
for loyalty in (0, 0.8, 0.95, 1):
    print(f"continues itself in {loyalty:4.0%}: {replay_beams(traces['ShareGPT'], 4, loyalty).saved:.1%} saved")

# %% [markdown] id="loyalty-after"
# Little hangs on it, as long as beams die now and then: soon all of them continue the same one, and share its long past. Only if none ever dies are they samples, and save 28.7 % as those do. What a real search does depends on the model: let us ask one.
#
# ## courier: four answers, and the prompt runs once

# %% id="courier"
# takes some ten seconds
from kvlab.models import EXAMPLE_ORDER, load_courier
from kvlab.serve import Engine, Sampling

model, tokenizer = load_courier()
chat = [{"role": "system", "content": EXAMPLE_ORDER}, {"role": "user", "content": "Where is my courier?"}]
asked = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)

# %% id="courier-samples"
engine = Engine(model, 200, checked=True, fill=float("nan"))  # every invariant is checked after every step
four = engine.sample(asked, 4, sampling=Sampling(temperature=1.0, seed=6))
for _ in range(2):
    engine.step()
print("last two blocks of each table:", *(engine.manager.table(s.id)[-2:] for s in four.samples))
engine.run()
for sample in four.samples:
    print("-", tokenizer.decode(sample.tokens, skip_special_tokens=True))

# %% id="courier-work"
answered = sum(len(sample.tokens) - 1 for sample in four.samples)  # the last token of each is said, and not run
print(f"{engine.projected_tokens} tokens went through the model: {len(asked)} of the prompt, {answered} of the answers")
print(f"without sharing: {4 * len(asked) + answered}")

# %% [markdown] id="courier-beams-intro"
# Now four beams, compared with Hugging Face's own `generate()`, which keeps a whole cache for each beam, and copies them all into the new order at each token.

# %% id="courier-beams"
import torch

search = engine.beam(asked, 4)
engine.run()
best = search.hypotheses[0].tokens
theirs = model.generate(torch.tensor([asked]), num_beams=4, max_new_tokens=128, do_sample=False)
print(tokenizer.decode(best, skip_special_tokens=True))
print("the same tokens as Hugging Face:", best == theirs[0, len(asked) :].tolist())

# %% [markdown] id="courier-saved-intro"
# The search has kept its parents. We replay it on your functions, and count the blocks:

# %% id="courier-saved"
pool, used, unshared = BlockPool(200), 0, 0
tables = [pool.take(blocks_needed(len(asked), BLOCK_SIZE))]
for tokens, parents in enumerate([[0] * 4, *search.parents[1:]], start=len(asked)):
    tables = beam_step(tables, parents, pool)
    for table in tables:
        append_with_cow(table, tokens, pool, BLOCK_SIZE)
    used += pool.num_blocks - pool.num_free
    unshared += sum(map(len, tables))
print(f"{used / unshared:.1%} of the blocks, {1 - used / unshared:.1%} saved")

# %% [markdown] id="extra"
# ## Extra: the same four answers again
#
# A customer complains about an odd answer, and you want to see it again. So a request may bring a **seed**. But it has four samples: they must differ, and each must come out the same again, whichever others have ended by then. Make a generator for each: an object with a method `random()`, such
# as `random.Random(...)`. Sample `i` may depend on the seed and on `i` alone, and requests with different seeds must have nothing in common.
#
# ★★☆ · extra · 10 min

# %% id="ex-sample-generators"
@exercise
def sample_generators(seed, n):
    """`n` random number generators as a list, one for each sample; `seed` is a whole number from 0 on."""
    ### BEGIN SOLUTION
    import random

    return [random.Random(f"{seed} {i}") for i in range(n)]
    ### END SOLUTION


# %% id="seeds-use"
# the engine has such a generator for each sample
again, other = (engine.sample(asked, 4, sampling=Sampling(temperature=1.0, seed=seed)) for seed in (6, 8))
engine.run()
for name, samples in (("seed 6 again", again), ("seed 8", other)):
    same = sum(a.tokens == b.tokens for a, b in zip(four.samples, samples.samples))
    print(f"{name}: {same} of 4 answers are as before")

# %% [markdown] id="hunt"
# ## Bug hunt: nothing was refused, and Dora reads somebody's draft
#
# Your pool of lab 03 refuses to release a block that is free. A server with that pool ran three drafts of one answer, and then came Dora. Here are its books: after each event the counts, and the tables of those who are there.

# %% id="hunt-code"
def books(events):
    """After each event: (event, the tables of those who are there, the count of each block)."""
    pool, tables, there = BlockPool(4), {}, {}
    for event in events:
        name, what = event.split(" ", 1)
        if what == "asks":
            there[name] = tables[name] = pool.take(2)
        elif what == "forks":
            there[name] = tables[name] = fork(tables["one"], pool)
        else:
            pool.release(tables[name])
            there.pop(name, None)
        yield event, dict(there), [pool.ref_count(block) for block in range(4)]


# %% id="hunt-events"
events = ["one asks", "two forks", "three forks", "two ends", "two is cancelled", "one ends", "dora asks"]
for event, there, counts in books(events):
    print(f"{event:17} counts {counts}  {there}")

# %% [markdown] id="hunt-task"
# At the end, Dora and draft three have the same blocks. Find the *first* event after which a count is not the number of tables that name the block. (**I2** forbids it.)

# %% id="hunt-solve"
from kvlab.course.hunts import judge_event


def first_broken(events):
    """The first event after which some block's count is not the number of tables that name it."""
    ### BEGIN SOLUTION
    for event, there, counts in books(events):
        named = [sum(block in table for table in there.values()) for block in range(4)]
        if named != counts:
            return event
    ### END SOLUTION


right = [sum(counts) == sum(map(len, there.values())) for _, there, counts in books(events)]
judge_event(first_broken(events), events, right)

# %% id="hunt-question"
### BEGIN SOLUTION
cause = "c"
### END SOLUTION

recall("06-bug-hunt", cause)

# %% [markdown] id="hunt-after"
# A count knows how many owners a block has, and not who they are. So each owner must give back once, and whoever has given back must have nothing left to give. Mend it:

# %% id="hunt-mend"
def leave(name, tables, pool):
    """Release the table of `name`, if it has one; afterwards it has none."""
    ### BEGIN SOLUTION
    pool.release(tables.pop(name, []))
    ### END SOLUTION


pool = BlockPool(4)
one = pool.take(2)
tables = {"one": one, "two": fork(one, pool)}
leave("two", tables, pool)
leave("two", tables, pool)
counts = [pool.ref_count(block) for block in one]
fault = "`two` is still in tables" if "two" in tables else "`one` is gone" if "one" not in tables else ""
fault = fault or ("" if counts == [1, 1] else "a count is off, expected [1, 1]")
print(list(tables), counts, f"- not yet: {fault}" if fault else "- as it should be")

# %% [markdown] id="say"
# ## Say it out loud
#
# In thirty seconds: how do many answers share one prompt's memory, when is a block copied and when not, and what does it save?

# %% id="say-it"
### BEGIN SOLUTION
my_words = """All answers' tables name the same blocks, and each block counts its owners. Only when somebody writes into a
block that others own too is it copied, so at most the last block, and the last owner writes in place. A block is free at
count zero. It saves 6 to 30 % for samples, and more for beams, because beams branch at every token."""
### END SOLUTION

say_it("06", my_words)

# %% id="close-lab"
close_lab("06")

# %% [markdown] id="read-on"
# ## Read on
#
# - Section 4.4 of Kwon et al., SOSP 2023, [arXiv 2309.06180](https://arxiv.org/abs/2309.06180), for the mechanism, and section 6.3 for the savings.
# - Today's vLLM gets there by lab 07's way: `n` samples are [`n` requests](https://docs.vllm.ai/en/latest/api/vllm/v1/engine/parallel_sampling/), and its [prefix cache](https://docs.vllm.ai/en/latest/design/prefix_caching/) lets them share full blocks. Each computes the half-filled one for itself, so none is copied.
# - Copy-on-write in operating systems: Arpaci-Dusseau, *Operating Systems: Three Easy Pieces*, chapter 23.
# - Next comes [lab 07](07_sharing_prefixes.ipynb), in which strangers share: two customers whose prompts happen to begin alike.

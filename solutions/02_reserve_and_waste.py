# %% [markdown] id="title"
# # 02 · Reserve and waste
#
# *Ninety minutes. No GPU needed.*

# %% [markdown] id="able"
# ## What you will be able to do
#
# - write the four ways in which servers before paging reserved memory;
# - split a reservation into what is used, what will be, and what never is;
# - build a memory allocator, break it, and measure how;
# - explain the paper's finding that only 20 to 38 % of the cache memory held tokens.

# %% id="setup" tags=["nbval-ignore-output"]
from kvlab.course import *
from kvlab.errors import OutOfMemory, UsageError

open_lab("02")

# %% [markdown] id="recall"
# ## Recall
#
# From lab 01, without looking. Run the cell to see the questions, then put a letter in quotes in place of each `...`.

# %% id="recall-questions"
### BEGIN SOLUTION
per_token = "b"
batch = "a"
smaller = "c"
### END SOLUTION

recall("02-per-token", per_token)
recall("02-batch", batch)
recall("02-smaller", smaller)

# %% [markdown] id="problem"
# ## The server must promise memory before it knows how long the answer gets
#
# The attention code of the first LLM servers took the keys of a conversation as one tensor, and a tensor lies in one piece. It cannot grow where
# something else begins. So the server sets aside one piece for each conversation, when it starts, as long as it may ever become. What comes in? Labs 00
# to 03 measure on the same 200 conversations of the assistant, whose answers you saw in lab 01, and say so where they take others. In numbers:

# %% id="lengths"
from statistics import median

from kvlab.memory import CONTEXT, KV_TOKENS, MAX_ANSWER, lesson_trace
from kvlab.models import courier_trace

trace = lesson_trace()
for name, requests in (("simulated", trace), ("courier", courier_trace())):
    prompts, answers = [r.prompt for r in requests], [r.answer for r in requests]
    print(f"{len(answers):3} {name}: prompts of {min(prompts):,} to {max(prompts):,} tokens; "
          f"half of the answers have at most {median(answers):.0f}, the longest has {max(answers):,}")

# %% [markdown] id="lengths-after"
# Every prompt is known when it arrives. No answer is, be it simulated or written by a model.
#
# ## Four ways to promise
#
# | policy | reserves | who does it |
# |---|---|---|
# | `"full"` | the longest conversation the model allows | early servers, one fixed shape |
# | `"prompt+max"` | the prompt and the longest allowed answer | servers that look at the prompt |
# | `"power of two"` | the prompt, plus the answer's length rounded up to a power of two | a lucky guess, never double the answer |
# | `"oracle"` | exactly prompt and answer | nobody: the length is known only afterwards |
#
# The last two cheat: they look at `answer`. They tell us how much better guesses could help. No policy reserves more than the
# **full context**, the longest conversation the model allows.
#
# ★☆☆ · core · 8 min

# %% id="ex-reserve"
@exercise
def reserve(policy, prompt, answer, context=8192, max_answer=2048):
    """Slots (one per token) reserved for a request under `policy`; at most `context`, the full context.

    policy: "full", "prompt+max", "power of two" or "oracle". Raises UsageError for any other name.
    answer: the answer's true length, at least 1; only "power of two" and "oracle" may look at it.
    """
    ### BEGIN SOLUTION
    if policy == "full":
        return context
    if policy == "prompt+max":
        return min(prompt + max_answer, context)
    if policy == "power of two":
        return min(prompt + 2 ** (answer - 1).bit_length(), context)
    if policy == "oracle":
        return min(prompt + answer, context)
    raise UsageError(f"no policy {policy!r}; there are full, prompt+max, power of two, oracle")
    ### END SOLUTION


# %% [markdown] id="predict-fit"
# **Predict.** The memory holds 524,288 tokens. With a full context for each, 64 conversations fit, and 177 with `"prompt+max"`. How many would fit with
# `"power of two"`, if the server could guess that well?

# %% id="predict-fit-cell"
### BEGIN SOLUTION
my_fit = 300
### END SOLUTION

predict("02-fit", my_fit, unit="conversations")

# %% id="published"
published = {"full": "published: 15.5 %, 64 fit", "prompt+max": "published: 42.8 %"}
fits, in_use = {}, {}
for policy in ("full", "prompt+max", "power of two", "oracle"):
    reserved = sum(reserve(policy, r.prompt, r.answer, CONTEXT, MAX_ANSWER) for r in trace)
    fits[policy] = KV_TOKENS * len(trace) // reserved
    in_use[policy] = sum(r.total for r in trace) / reserved
    print(f"{policy:13} {in_use[policy]:6.2%} in use, {fits[policy]:3} fit in {KV_TOKENS:,}   {published.get(policy, '')}")
reveal("02-fit", fits["power of two"])

# %% [markdown] id="published-after"
# The first two rows repeat a *published simulation* of 200 requests to the last digit: 15.5 % and 64, then 42.8 %. (It belongs to a lesson on PagedAttention, not to the paper.) That is no accident: the
# lesson gives averages of its requests, not the requests, so we *searched* for a seed that leads to its figures. About one in 100,000 did. The next cell draws 300 fresh traces in the same way to show what to expect in general.

# %% id="fresh-seeds"
import numpy as np

shares = {"full": [], "prompt+max": []}
for seed in range(300):
    fresh = lesson_trace(seed)
    held = sum(r.total for r in fresh)
    for policy in shares:
        shares[policy].append(held / sum(reserve(policy, r.prompt, r.answer) for r in fresh))
for policy, values in shares.items():
    print(f"{policy:13} mean {np.mean(values):.1%}, nine in ten between {np.quantile(values, 0.05):.1%} and "
          f"{np.quantile(values, 0.95):.1%}, the highest {max(values):.1%}; ours {in_use[policy]:.1%}")

# %% [markdown] id="fresh-after"
# Ours is a lucky one: not one of the 300 comes up to it. With `"prompt+max"` expect 39 % where we have 42.8 %, with the full context 14 % where we have 15.5 %. The order and the story stay.
#
# ## A reservation is empty in two ways: for now, and for ever
#
# That table counts only final lengths. Look at *one* conversation while it runs: a prompt of 500 tokens, an answer of 100, and 2,548 slots
# reserved. After 40 tokens of the answer, what is in those slots?
#
# - **held**: keys and values of tokens that exist (lab 01 counted none for an answer's last token; from here on we give it a slot too);
# - **later**: reserved, empty now, and will be used. Nobody else can use it meanwhile;
# - **internal**: reserved and never used, because the length was over-estimated. This is *internal fragmentation*.
#
# ★★☆ · core · 8 min

# %% id="ex-waste-kinds"
@exercise
def waste_kinds(prompt, answer, generated, allocated):
    """(held, later, internal): what the `allocated` slots of a request hold after `generated` of its `answer` tokens.

    generated: 0 to `answer`. allocated: at least prompt + answer.
    """
    ### BEGIN SOLUTION
    held = prompt + generated
    later = answer - generated
    internal = allocated - prompt - answer
    return held, later, internal
    ### END SOLUTION


# %% id="waste-life"
slots = reserve("prompt+max", prompt=500, answer=100)
print(f"{slots:,} slots reserved")
for generated in (0, 40, 100):
    held, later, internal = waste_kinds(500, 100, generated, slots)
    print(f"after {generated:3} tokens: held {held}, later {later}, internal {internal}")

# %% [markdown] id="arena-problem"
# ## Conversations leave, and the free memory lies in pieces
#
# There is a third kind, and you have to build an allocator to meet it. Memory is one long row of slots, an **arena**. A conversation
# takes a piece; when it ends, the piece becomes a **hole**. *First fit* places a newcomer at the start of the lowest hole that is long enough. Two holes
# that touch are one hole: joining them is called *coalescing*.
#
# A newcomer that fits in no hole is refused with `raise OutOfMemory(needed, free, largest)`: slots asked for, free slots in all,
# and the largest hole. A refusal changes nothing.
#
# ★★★ · core · 20 min

# %% id="ex-first-fit-arena"
@exercise
class FirstFitArena:
    """A row of `capacity` slots, handed out in contiguous pieces, lowest hole first.

    `holes` lists the free pieces as (start, size), sorted; no two of them touch.
    """

    def __init__(self, capacity):
        ### BEGIN SOLUTION
        self.holes = [(0, capacity)]
        self.sizes = {}  # start of a piece -> its size
        ### END SOLUTION

    def allocate(self, size):
        """Start of a free piece of `size` slots (>= 1), taken from now on. Raises OutOfMemory(needed, free, largest)."""
        ### BEGIN SOLUTION
        for i, (start, length) in enumerate(self.holes):
            if length >= size:
                self.holes[i : i + 1] = [(start + size, length - size)] if length > size else []
                self.sizes[start] = size
                return start
        lengths = [length for _, length in self.holes]
        raise OutOfMemory(size, sum(lengths), max(lengths, default=0))
        ### END SOLUTION

    def free(self, start):
        """Give the piece that begins at slot `start` back. Raises UsageError if no piece begins there."""
        ### BEGIN SOLUTION
        if start not in self.sizes:
            raise UsageError(f"no piece begins at slot {start}")
        self.holes = sorted([*self.holes, (start, self.sizes.pop(start))])
        i = 0
        while i + 1 < len(self.holes):
            (left, length), (right, more) = self.holes[i : i + 2]
            if left + length == right:
                self.holes[i : i + 2] = [(left, length + more)]
            else:
                i += 1
        ### END SOLUTION


# %% [markdown] id="holes"
# ## Enough memory is free, and the newcomer is refused
#
# A free slot in a hole that is too short for the newcomer is as good as no slot. This is *external fragmentation*. A common measure: the part of the free slots that
# lies outside the largest hole.
#
# ★☆☆ · core · 5 min

# %% id="ex-external-fragmentation"
@exercise
def external_fragmentation(holes):
    """Part (0 to 1) of the free slots outside the largest of `holes`, a list of (start, size); 0.0 if nothing is free."""
    ### BEGIN SOLUTION
    sizes = [size for _, size in holes]
    return 1 - max(sizes) / sum(sizes) if sizes else 0.0
    ### END SOLUTION


# %% [markdown] id="churn-intro"
# ## Measure: how often is a conversation refused although there is room?
#
# Now the arena gets busy. It is OPT-13B's on a 40 GB card, as in the paper: 15,700 slots. Conversations of a chat site wait in a queue; whenever the first in the
# queue does not fit, a running one finishes.
#
# **Predict.** Of 100 refusals, in how many would the free slots have been enough, had they lain together?

# %% id="predict-refused"
### BEGIN SOLUTION
my_refused = 50
### END SOLUTION

predict("02-refused", my_refused, unit="of 100 refusals")

# %% id="churn"
def place(arena, running, size, rng):
    """Place a piece of `size` slots; until it fits, someone who runs finishes. Yields (free, fragmentation) per refusal."""
    while True:
        try:
            running.append(arena.allocate(size))
            return
        except OutOfMemory as refusal:
            yield refusal.free, external_fragmentation(arena.holes)
            arena.free(running.pop(rng.randrange(len(running))))

# %% id="churn-result"
import random

from kvlab.memory import sharegpt_like

arena, running, rng = FirstFitArena(15_700), [], random.Random(2)
refusals = []
for r in sharegpt_like(1000, seed=2):
    size = reserve("oracle", r.prompt, r.answer, context=2048)
    refusals += [(free >= size, part) for free, part in place(arena, running, size, rng)]
with_room = sum(enough for enough, _ in refusals)
print(f"{len(refusals)} refusals, {with_room} of them with enough slots free")
print(f"when refused, {np.mean([part for _, part in refusals]):.0%} of the free slots lay outside the largest hole")
reveal("02-refused", round(100 * with_room / len(refusals)))

# %% [markdown] id="strip-intro"
# That counted refusals. Now count steps. Here is the arena as a strip of memory (upwards) over time (to the right). Look for the black: it is free
# memory while the next conversation waits, because no hole is long enough.

# %% id="figure-arena"
from kvlab.view import arena_strip

arena_strip(sharegpt_like(400, seed=2), policy="oracle", capacity=15_700, context=2048, arena=FirstFitArena)

# %% [markdown] id="bars"
# ## The paper's finding: 20 to 38 % of the memory holds tokens
#
# Kwon et al. rebuilt an earlier server, Orca, with three of these policies, and measured it under load, at every moment and not only at the end. We replay that: a full queue, one
# token a step for everyone who runs. Their arena was a *buddy* allocator. It hands out only pieces of a power of two, which are quick to split and to join, and
# rounding up adds internal waste of its own.

# %% id="figure-bars"
from kvlab.memory import replay
from kvlab.view import waste_bars

queue = sharegpt_like(800, seed=0)
runs = {policy: replay(queue, policy, allocator="buddy") for policy in ("full", "power of two", "oracle")}
for policy, run in runs.items():
    print(f"{policy:13} {run.waste.share_held:5.1%} of the memory holds tokens, {run.running:4.1f} requests run together")
waste_bars({policy: run.waste for policy, run in runs.items()})

# %% [markdown] id="bars-after"
# In the first table the oracle used 100 %, because there only final lengths counted. Counted at every moment, it doubles the use of the memory and still leaves most of it
# empty: tokens to come, and a buddy's rounding. The reservation itself is the trouble. (The paper does not give its exact lengths, so our shares are a few points off.)
#
# ## Extra: push everything together
#
# The textbook's answer to holes is *compaction*: slide all pieces to the left. It works, and it moves keys and values while everybody waits.
#
# ★★☆ · extra · 12 min

# %% id="ex-compact"
@exercise
def compact(chunks):
    """Slide `chunks`, a list of (start, size) in any order, to the left; in memory they keep their order.

    Returns (moves, tokens_moved): moves as (from, to, size) in an order that never overwrites a piece still to move;
    a piece that stays where it is is no move.
    """
    ### BEGIN SOLUTION
    moves, to = [], 0
    for start, size in sorted(chunks):
        if start != to:
            moves.append((start, to, size))
        to += size
    return moves, sum(size for _, _, size in moves)
    ### END SOLUTION


# %% id="compact-cost"
edges = [0] + [edge for start, size in arena.holes for edge in (start, start + size)] + [15_700]
chunks = [(a, b - a) for a, b in zip(edges[::2], edges[1::2]) if b > a]  # what lies between the holes
moves, moved = compact(chunks)
kv, weights, bandwidth = moved * 800 * 1024, 13e9 * 2, 1.555e12  # OPT-13B on an A100 with 40 GB
print(f"{len(moves)} of {len(chunks)} pieces move: {moved:,} tokens, {kv / 2**30:.1f} GiB")
move, step = 2 * kv / bandwidth, (weights + kv) / bandwidth  # moving reads and writes
print(f"moving takes {1000 * move:.0f} ms, a decode step {1000 * step:.0f} ms")

# %% [markdown] id="compact-after"
# With every piece full, that is more than half of a step in which nobody writes a word, and it comes again whenever the holes have become too short for a newcomer. Every pointer into the arena has to change as well.

# %% [markdown] id="play"
# ## Play: try to break it
#
# Four settings: the two reservations of this lab, and two kinds of blocks that lab 03 builds. Make the longest allowed answer shorter, or the conversations longer. Can you find a
# setting in which reserving the full context is a good idea? Is it one you would run?

# %% id="explorer-policies"
from kvlab.view import policy_explorer

policy_explorer(trace)

# %% [markdown] id="play-after"
# If every conversation fills the full context to its last token, reserving all of it wastes nothing at the end. (Until then much of it is the *later* of above: pull *written so far* back to see it.) Push *answer length* up and *context* down, and watch the first row catch up. It is a
# service in which every customer gets a report of the greatest length.

# %% [markdown] id="say"
# ## Say it out loud
#
# In thirty seconds: why did early LLM servers waste most of their KV memory?

# %% id="say-it"
### BEGIN SOLUTION
my_words = """They reserve one contiguous piece per request for the longest possible answer, since its length is unknown.
Slots for later tokens sit empty, over-estimates are never used (internal fragmentation), and holes between pieces are
too small for newcomers (external fragmentation). Only 20 to 38 % held tokens."""
### END SOLUTION

say_it("02", my_words)

# %% id="close-lab"
close_lab("02")

# %% [markdown] id="read-on"
# ## Read on
#
# - Next: [03 Blocks and tables](03_blocks_and_tables.ipynb), which gets to 99 %.
# - Sections 2 and 3 of Kwon et al., SOSP 2023, [arXiv 2309.06180](https://arxiv.org/abs/2309.06180).
# - How allocators behave in general: Wilson et al., *Dynamic Storage Allocation: A Survey and Critical Review*, 1995.

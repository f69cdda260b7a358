# %% [markdown] id="title"
# # 03 · Blocks and tables
#
# *Ninety minutes. No GPU needed.*

# %% [markdown] id="able"
# ## What you will be able to do
#
# - build the two structures at the heart of a modern LLM server: the block pool and the block table;
# - find any token's place in memory from its position alone;
# - say in one line how much paging can waste, and measure it on the 200 conversations;
# - find a memory bug by checking invariants after every event.

# %% id="setup" tags=["nbval-ignore-output"]
from kvlab.course import *
from kvlab.errors import OutOfBlocks, UsageError

open_lab("03")

# %% [markdown] id="recall"
# ## Recall
#
# From labs 01 and 02, without looking. Run the cell to see the questions, then put a letter in quotes in place of each `...`.

# %% id="recall-questions"
### BEGIN SOLUTION
kinds = "b"
holes = "a"
memory_wall = "c"
### END SOLUTION

recall("03-kinds", kinds)
recall("03-holes", holes)
recall("03-memory-wall", memory_wall)

# %% [markdown] id="problem"
# ## If every piece has the same size, any hole will do
#
# In lab 02 newcomers were refused although enough memory was free, and even the oracle left most of it empty. Two habits are to
# blame: pieces of different sizes, and a promise for the whole conversation. Operating systems had the same trouble with programs, and gave up both habits:
# cut the memory into equal **blocks**, and hand out the next one only when it is needed. Here a block holds the keys and values of 16 tokens.
#
# How many blocks do `num_tokens` tokens need? (Never more and never fewer than this: that is **I3**, one of the course's *invariants*, numbered sentences that must hold after every operation. `glossary("invariants")` lists them all.)
#
# ★☆☆ · core · 5 min

# %% id="ex-blocks-needed"
@exercise
def blocks_needed(num_tokens, block_size):
    """Blocks that hold `num_tokens` tokens (>= 0) at `block_size` tokens per block (>= 1)."""
    ### BEGIN SOLUTION
    return -(-num_tokens // block_size)
    ### END SOLUTION


# %% [markdown] id="predict-fit"
# **Predict.** The full context let 64 conversations in, `"prompt+max"` 177, and lab 00 gave away the number for blocks of 16. How many fit with blocks of 64?

# %% id="predict-fit-cell"
### BEGIN SOLUTION
my_fit = 400
### END SOLUTION

predict("03-fit", my_fit, unit="conversations")

# %% id="fit"
from kvlab.memory import BLOCK_SIZE, KV_TOKENS, lesson_trace

trace = lesson_trace()
finals = [r.total for r in trace]
fit = {}
for size in (BLOCK_SIZE, 64):
    blocks = sum(blocks_needed(n, size) for n in finals)
    fit[size] = KV_TOKENS * len(finals) // (blocks * size)  # memory, over what a conversation takes on average
    print(f"{blocks:,} blocks of {size} for {len(finals)} conversations; {fit[size]} fit at the same time")
reveal("03-fit", fit[64])

# %% [markdown] id="pool-intro"
# ## The pool knows who owns which block
#
# Somebody has to keep the books: which blocks are free, and who has the others. That is the **block pool**. Blocks are only numbers here, 0 to
# `num_blocks - 1`; the bytes come in lab 04.
#
# Later, several conversations will own one block (ten answers to the same prompt need that prompt only once), so the pool counts owners from the start.
# That is the **reference count**:
#
# | call | returns | counts afterwards | free |
# |---|---|---|---|
# | `BlockPool(4)` | | | 4 |
# | `take(2)` | `[3, 2]`, say | block 3: 1, block 2: 1 | 2 |
# | `share([3])` | | block 3: 2 | 2 |
# | `release([3, 2])` | | block 3: 1, block 2: 0 | 3 |
#
# Three rules keep the books honest:
#
# - **I1** used and free blocks together are all blocks, and none is both;
# - **I2** a block's count is the number of its owners, and at 0 it is free;
# - **I13** a refused call changes nothing.
#
# There are two ways to refuse. Too few blocks is everyday life: `raise OutOfBlocks(needed, free)`, and whoever asked will wait. Releasing or sharing a block
# that nobody owns is a bug in the caller: `raise UsageError("...")`.
#
# ★★★ · core · 30 min

# %% id="ex-block-pool"
@exercise
class BlockPool:
    """`num_blocks` blocks, numbered from 0, each free or owned. `num_free` says how many are free."""

    def __init__(self, num_blocks):
        ### BEGIN SOLUTION
        self.free = list(range(num_blocks))
        self.counts = [0] * num_blocks
        ### END SOLUTION

    @property
    def num_free(self):
        ### BEGIN SOLUTION
        return len(self.free)
        ### END SOLUTION

    def take(self, count):
        """`count` free blocks as a list, each with one owner now. Raises OutOfBlocks(needed, free)."""
        ### BEGIN SOLUTION
        if count > len(self.free):
            raise OutOfBlocks(count, len(self.free))
        taken = [self.free.pop() for _ in range(count)]
        for block in taken:
            self.counts[block] = 1
        return taken
        ### END SOLUTION

    def share(self, blocks):
        """One more owner for each of `blocks`. Raises UsageError if one of them is free."""
        ### BEGIN SOLUTION
        if any(self.counts[block] == 0 for block in blocks):
            raise UsageError(f"cannot share {blocks}: a free block has no owner to share with")
        for block in blocks:
            self.counts[block] += 1
        ### END SOLUTION

    def release(self, blocks):
        """One owner fewer for each of `blocks`; at zero a block is free. UsageError if one has too few owners."""
        ### BEGIN SOLUTION
        if any(blocks.count(block) > self.counts[block] for block in blocks):
            raise UsageError(f"cannot release {blocks}: one of them has fewer owners than that")
        for block in blocks:
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free.append(block)
        ### END SOLUTION

    def ref_count(self, block):
        """How many owners `block` has."""
        ### BEGIN SOLUTION
        return self.counts[block]
        ### END SOLUTION


# %% id="pool-use"
pool = BlockPool(4)
ana, ben = pool.take(1), pool.take(2)
pool.release(ana)
print(f"{pool.num_free} of 4 blocks are free")
try:
    pool.take(3)
except OutOfBlocks as refusal:
    print(f"refused: {refusal}; still {pool.num_free} free")

# %% [markdown] id="table-intro"
# ## A conversation's blocks need not be neighbours
#
# Ana has returned a block, Ben has two, and the next customer gets what is left, in any order. So each conversation needs a list: my first 16 tokens are in block 7, the next 16 in block 2, and so on.
# That list is its **block table**. It grows by one entry when the last block is full, and not before.
#
# The place of one token is its **slot**: `block * block_size + offset`, where `offset` counts inside the block. Where does token 20 live if the table is `[7, 2]`?
#
# Write the slots of the tokens `start` to `stop - 1`. (Invariant **I4**: a slot comes from the table, never from `previous slot + 1`.)
#
# ★★☆ · core · 8 min

# %% id="ex-slot-mapping"
@exercise
def slot_mapping(table, start, stop, block_size):
    """Slots of tokens `start`, ..., `stop - 1` of a sequence with this block table, as a list."""
    ### BEGIN SOLUTION
    return [table[i // block_size] * block_size + i % block_size for i in range(start, stop)]
    ### END SOLUTION


# %% id="slots-use"
print("token 20 of table [7, 2] is in slot", slot_mapping([7, 2], 20, 21, 16)[0])
print("tokens 14 to 17 are in slots", slot_mapping([7, 2], 14, 18, 16))

# %% [markdown] id="append-intro"
# ## A block is taken when the last one is full, and not before
#
# Now put pool and table together. A conversation has `num_tokens` tokens already, and `new_tokens` more arrive: a whole prompt at once, or one token of the
# answer. Take the blocks that are missing, extend the table *in place*, and return the new tokens' slots. If the pool refuses, let its exception pass: the table
# must be as it was (**I13**).
#
# ★★★ · core · 15 min

# %% id="ex-append-tokens"
@exercise
def append_tokens(table, num_tokens, new_tokens, pool, block_size):
    """Make room for `new_tokens` after the `num_tokens` that `table` holds; returns the new tokens' slots."""
    ### BEGIN SOLUTION
    missing = blocks_needed(num_tokens + new_tokens, block_size) - len(table)
    table += pool.take(missing)
    return slot_mapping(table, num_tokens, num_tokens + new_tokens, block_size)
    ### END SOLUTION


# %% id="append-use"
pool, table, length = BlockPool(8), [], 0
for arriving in (30, 1, 1, 1):  # a prompt, then an answer, token by token
    slots = append_tokens(table, length, arriving, pool, block_size=16)
    length += arriving
    print(f"{length} tokens in {len(table)} blocks, {len(slots)} new, {pool.num_free} blocks free")

# %% [markdown] id="waste-intro"
# ## All that is wasted is the end of the last block
#
# Nothing is reserved for later, nothing lies between pieces. Only the last block of a conversation may be partly empty. For 16-token blocks that is between 0 and 15
# slots. Count them over all conversations of a server.
#
# ★☆☆ · core · 5 min

# %% id="ex-paged-waste"
@exercise
def paged_waste(lengths, block_size):
    """Empty slots in the last blocks of sequences with these lengths, in all."""
    ### BEGIN SOLUTION
    return sum(-n % block_size for n in lengths)
    ### END SOLUTION


# %% [markdown] id="predict-empty"
# **Predict.** Over the 200 conversations, how many slots are empty in a last block of 16, on average? And how would you estimate it without counting?

# %% id="predict-empty-cell"
### BEGIN SOLUTION
my_empty = 8
### END SOLUTION

predict("03-empty", my_empty, unit="slots")

# %% id="waste-use"
for size in (16, 256):
    empty = paged_waste(finals, size) / len(finals)
    print(f"blocks of {size:3}: {empty:5.1f} empty slots a conversation, (block - 1) / 2 = {(size - 1) / 2}")
reveal("03-empty", paged_waste(finals, BLOCK_SIZE) / len(finals))

# %% [markdown] id="waste-after"
# `(block - 1) / 2` needs no length at all. When lengths are spread out, 0 to 15 empty slots are equally likely: 7.5 on average.
#
# ## Measure: the published simulation, complete
#
# Beside the two reservations, the published simulation of lab 02 has two sizes of blocks. Black lines are its figures.

# %% id="published"
from kvlab.memory import published_table
from kvlab.view import published_bars

published_bars(published_table(trace, KV_TOKENS))

# %% [markdown] id="published-courier"
# Those lengths were drawn by a random generator. The same table for requests that the course's own model, courier, answered, as if the assistant had served them:

# %% id="published-courier-table"
from kvlab.models import courier_trace

for row in published_table(courier_trace(), KV_TOKENS):
    print(f"{row.policy:16} {row.share_held:6.1%} in use, {row.fit:5,} fit")

# %% [markdown] id="published-after"
# Look at the ends of this table. These conversations are short: a full context is nearly empty, and now the size of a block matters, since a third of what blocks of 256 take is the empty end of the last one.
#
# And the paper's bars: three you know from lab 02, the fourth is new. Here is a smaller memory of 15,700 slots, and every moment counts, not only final lengths. So fewer requests run. The share that holds tokens
# is what to compare: 20.4, 26.8 and 38.2 % in the paper's contiguous servers, 96.3 % in its paged one. Ours come close; the paper does not give its exact lengths.

# %% id="figure-bars"
from kvlab.memory import replay, sharegpt_like
from kvlab.view import waste_bars

queue = sharegpt_like(800, seed=0)
slots = 15_700  # OPT-13B on a 40 GB card
runs = {policy: replay(queue, policy, slots, allocator="buddy") for policy in ("full", "power of two", "oracle", "16-token blocks")}
for policy, run in runs.items():
    print(f"{policy:16} {run.waste.share_held:5.1%} of the memory holds tokens, {run.running:4.1f} requests run together")
waste_bars({policy: run.waste for policy, run in runs.items()})

# %% [markdown] id="play"
# ## Play: a pool, step by step
#
# Step through the life of a small pool: conversations arrive, take blocks, grow, and leave. Watch a table when its conversation takes its second
# block: is it the neighbour of the first? Then go to the first refusal. Who caused it, and who has to wait?

# %% id="explorer-pool"
from kvlab.view import pool_explorer

pool_explorer(pool=BlockPool)

# %% [markdown] id="extra"
# ## Extra: why not one token a block?
#
# One token a block wastes nothing at all. What does it cost? To read a conversation once, attention looks up every entry of its table. Sweep the block size: for each, the share
# of allocated slots that hold a token, and the table entries looked up.
#
# ★★☆ · extra · 10 min

# %% id="ex-block-size-sweep"
@exercise
def block_size_sweep(lengths, block_sizes):
    """[(block_size, share_held, lookups)]: share of the allocated slots in use, and table entries of all sequences.

    One row for each size, in the order given. At least one length is above 0.
    """
    ### BEGIN SOLUTION
    rows = []
    for size in block_sizes:
        entries = sum(blocks_needed(n, size) for n in lengths)
        rows.append((size, sum(lengths) / (entries * size), entries))
    return rows
    ### END SOLUTION


# %% id="sweep-use"
from kvlab.view import block_size_curve

rows = block_size_sweep(finals, [1, 8, 16, 32, 64, 256])
for size, share, lookups in rows:
    print(f"blocks of {size:3}: {share:6.1%} in use, {lookups:7,} lookups")
block_size_curve(rows, requests=len(finals))

# %% [markdown] id="sweep-after"
# From 1 to 16 the lookups fall to a sixteenth and 0.6 % of the memory is lost. From 16 to 256 they fall again, but 9.0 % of the memory is lost. A GPU adds a reason against
# small blocks: a kernel must fetch an entry of the table before it can read the block, and the smaller the block, the less it reads after each such wait (lab 05). vLLM's
# default is 16. Others choose otherwise, as lab 10 shows: SGLang's pages hold one token (it has kernels made for that), Hugging Face's 256.
#
# ## Bug hunt: two customers, one block
#
# A server without reference counts ran fine for weeks. Then Dora's assistant greeted her with Carl's address. Here are the last events. `FreeList` is
# the pool that server used, and its free list is all it has.

# %% id="hunt-code"
class FreeList:
    def __init__(self, num_blocks):
        self.free = list(range(num_blocks))

    def take(self):
        return self.free.pop()

    def release(self, block):
        self.free.append(block)


# %% id="hunt-events"
events = ["ana arrives", "ben arrives", "ana finishes", "ana hangs up", "carl arrives", "dora arrives", "ben finishes"]


def books(events):
    """After each event: (event, the block each customer was given, the free list)."""
    pool, given = FreeList(4), {}
    for event in events:
        name, what = event.split(" ", 1)
        if what == "arrives":
            given[name] = pool.take()
        else:
            pool.release(given[name])
        yield event, dict(given), list(pool.free)


for event, given, free in books(events):
    print(f"{event:14} {given}  free {free}")

# %% [markdown] id="hunt-task"
# Dora and Carl both have block 3. But that is where the damage shows, not where it was done. Walk through the books and find the *first* event after which a block stands in the free list twice. (**I1** forbids it.)

# %% id="hunt-solve"
def first_broken(events):
    """The first event after which a block stands in the free list twice."""
    ### BEGIN SOLUTION
    for event, _, free in books(events):
        if len(set(free)) < len(free):
            return event
    ### END SOLUTION


from kvlab.course.hunts import judge_event

right = [max(map(free.count, free)) == 1 for _, _, free in books(events)]
judge_event(first_broken(events), events, right)

# %% id="hunt-question"
### BEGIN SOLUTION
cause = "c"
### END SOLUTION

recall("03-bug-hunt", cause)

# %% [markdown] id="hunt-after"
# Engines have met this one in earnest: a request finishes in the same step in which its client disconnects, and both paths return its blocks. Your `BlockPool` refuses the second
# release. (The course's own pool can also walk its whole state after every event: `check()` names the first invariant that does not hold.)

# %% id="hunt-own-pool"
pool = BlockPool(4)
ana = pool.take(1)
pool.release(ana)
try:
    pool.release(ana)
except UsageError:
    print(f"refused; the pool hands out {sorted(pool.take(4))}, each block once")

# %% [markdown] id="say"
# ## Say it out loud
#
# In thirty seconds: how do fixed-size blocks fix the waste? Then the first follow-up: why not one-token blocks?

# %% id="say-it"
### BEGIN SOLUTION
my_words = """The cache is a pool of fixed-size blocks. Each request has a block table that maps its tokens to blocks anywhere in
memory, and takes a block only when its last one is full. So only the last block is partly empty. One-token blocks would
make tables and lookups long and reads short."""
### END SOLUTION

say_it("03", my_words)

# %% id="close-lab"
close_lab("03")

# %% [markdown] id="read-on"
# ## Read on
#
# - Section 4 of Kwon et al., SOSP 2023, [arXiv 2309.06180](https://arxiv.org/abs/2309.06180): the same structures as the paper draws them.
# - Paging in operating systems: Arpaci-Dusseau, *Operating Systems: Three Easy Pieces*, chapters 18 to 20.
# - Next comes [lab 04](04_paged_attention.ipynb), in which the blocks get bytes: attention that reads through the table.

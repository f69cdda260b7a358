# %% [markdown] id="title"
# # 10 · Other homes for blocks
#
# *Ninety minutes. Needs PyTorch; no GPU needed.*

# %% [markdown] id="able"
# ## What you will be able to do
#
# - keep the blocks of idle conversations on the host or on disk, and never load one that is not whole;
# - say from which length on loading beats computing, with your hardware's numbers;
# - build the alternative to block tables, addresses that are reserved and filled page by page, and say what its pages cost;
# - compare seven systems by what they do, and run each on one trace.

# %% id="setup" tags=["nbval-ignore-output"]
from kvlab.course import *
from kvlab.errors import OutOfPages, UsageError

open_lab("10")

# %% [markdown] id="recall"
# ## Recall
#
# From labs 03, 07 and 09, without looking. Run the cell to see the questions, then put a letter in quotes in place of each `...`.

# %% id="recall-questions"
### BEGIN SOLUTION
most_waste = "a"
hash_goes = "c"
same_table = "a"
### END SOLUTION

recall("10-most-waste", most_waste)
recall("10-hash-goes", hash_goes)
recall("10-same-table", same_table)

# %% [markdown] id="problem"
# ## Ana comes back after ten minutes
#
# She asks courier where her order is, reads the answer, and asks a second question. All that was said before is in her prompt again. If her blocks are still in the pool, little must be computed. But others came in between.

# %% id="courier"
from kvlab.models import EXAMPLE_ORDER, load_courier
from kvlab.serve import Engine

model, tokenizer = load_courier()


def chat(order, *said):
    """The tokens of a conversation about an order, in which customer and courier take turns."""
    turns = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)]
    system = {"role": "system", "content": EXAMPLE_ORDER.replace("979", order)}
    return tokenizer.apply_chat_template([system, *turns], add_generation_prompt=True, return_dict=False)


def ask(engine, tokens):
    """(what courier answers, how many tokens of the prompt were computed)."""
    before, asked = engine.projected_tokens, engine.submit(tokens)
    engine.run()
    return tokenizer.decode(asked.tokens, skip_special_tokens=True), engine.projected_tokens - before - len(asked.tokens) + 1


# %% id="problem-run"
where, when = "Where is my courier?", "When will my order arrive?"
engine = Engine(model, 24, prefix="hash", checked=True)  # 24 blocks of 16 tokens
first, _ = ask(engine, chat("979", where))
again = chat("979", where, first, when)
print(f"at once: {ask(engine, again)[1]} of {len(again)} prompt tokens computed")
for order in ("123", "456", "789"):
    ask(engine, chat(order, where))
print(f"after three others: {ask(engine, again)[1]} of {len(again)}")

# %% [markdown] id="problem-after"
# Two blocks were found, of what courier is told in every conversation. The rest was computed a second time.

# %% [markdown] id="host-intro"
# ## A second home
#
# The host has more memory than the GPU, and a disk more again. So each full block that gets its hash is also stored in a **tier** below it, found there by the same hash. Its free places, its index and its eviction are like a pool's. What is new: a store or a load takes a while, and others go on meanwhile. Three rules make that safe:
#
# 1. A block is found only when its store is **done** (**I8**), not when it begins.
# 2. While it is loaded it is **pinned**: it cannot leave. Two loads are two pins.
# 3. A full tier lets the **least recently used** leave, but never one that is pinned or being stored. If nobody may leave, the new block is not stored: that costs time later, and no wrong answer.
#
# ★★★ · core · 25 min

# %% id="ex-host-tier"
@exercise
class HostTier:
    """Places 0 to `num_blocks - 1` and who has them. Only `store_done` and `touch` count as a use."""

    def __init__(self, num_blocks):
        ### BEGIN SOLUTION
        self.free, self.storing, self.stored, self.pins = list(range(num_blocks)), {}, {}, {}
        ### END SOLUTION

    def __contains__(self, key):
        """Whether the block can be found (`key in tier`)."""
        ### BEGIN SOLUTION
        return key in self.stored
        ### END SOLUTION

    def store_begin(self, key):
        """A place for a new block. None if it is stored or being stored, or if nobody may leave for it."""
        ### BEGIN SOLUTION
        if key in self.stored or key in self.storing:
            return None
        if not self.free:
            victim = next((other for other in self.stored if not self.pins.get(other)), None)
            if victim is None:
                return None
            self.free.append(self.stored.pop(victim))
        self.storing[key] = self.free.pop()
        return self.storing[key]
        ### END SOLUTION

    def store_done(self, key):
        """Its bytes are all there: from now on it is found, as the most recently used."""
        ### BEGIN SOLUTION
        self.stored[key] = self.storing.pop(key)
        ### END SOLUTION

    def touch(self, key):
        """`key` was asked for: if stored, it is now the most recently used. If not, nothing changes, or any error."""
        ### BEGIN SOLUTION
        self.stored[key] = self.stored.pop(key)
        ### END SOLUTION

    def pin(self, key):
        """Its place, from which a load begins. Raises UsageError if it is not found."""
        ### BEGIN SOLUTION
        if key not in self.stored:
            raise UsageError(f"{key} is not stored")
        self.pins[key] = self.pins.get(key, 0) + 1
        return self.stored[key]
        ### END SOLUTION

    def unpin(self, key):
        """One load of this block has ended."""
        ### BEGIN SOLUTION
        self.pins[key] -= 1
        ### END SOLUTION


# %% id="host-use"
tier = HostTier(2)
tier.store_begin("greeting")
print("(with your class)" if HostTier.__module__ == "__main__" else "(with the finished part, until yours passes)")
print("while it is being stored, it is found:", "greeting" in tier)
tier.store_done("greeting")
tier.store_begin("menu")
tier.store_done("menu")
tier.pin("greeting")
tier.store_begin("address")
print("the greeting is being loaded, so who leaves is the menu:", "greeting" in tier, "menu" in tier)

# %% [markdown] id="host-measure"
# How large must a tier be? Here are the chats of lab 07, looked up in yours alone. (Only prompts are stored here. Lab 07's cache kept the answers too, and found more.)

# %% id="host-chats"
from kvlab.memory import BLOCK_SIZE, block_hashes, multi_turn, prompt_tokens

chats = multi_turn(12, turns=5, seed=7)
texts = [block_hashes(prompt_tokens(request, 32_000), BLOCK_SIZE) for request in chats]
print(f"{len(chats)} prompts, {sum(request.prompt for request in chats):,} tokens in all; "
      f"{sum(map(len, texts)):,} full blocks, {len(set().union(*texts))} of them different")

# %% id="host-found"
def found(num_blocks, texts):
    """The share of the prompts' full blocks that a tier of this size finds."""
    tier, hits = HostTier(num_blocks), 0
    for keys in texts:
        hits += next((n for n, key in enumerate(keys) if key not in tier), len(keys))
        for key in reversed(keys):  # the head of a chain is used last, so that it leaves last
            if key in tier:
                tier.touch(key)
            elif tier.store_begin(key) is not None:
                tier.store_done(key)
    return hits / sum(map(len, texts))


# %% id="host-sizes"
for blocks in (100, 200, 400, 800):
    print(f"{blocks:4} blocks: {found(blocks, texts):5.1%} found")

# %% [markdown] id="host-after"
# With 648 places all is found but each block's first time. More would find nothing more.

# %% [markdown] id="disk-intro"
# ## A home that outlives the server
#
# On disk, a block is a file. It is written under another name and renamed when it is complete: the same rule, so that even a crash leaves no half block to be found. The file also says which model it is for, and has a **checksum**, since bytes that lie around for weeks may change.
#
# **Predict.** Ana's first turn, question and answer, is stored in full blocks of 16 tokens; then the server is restarted. Her second prompt begins with that turn. The next cell says how long both are. How many tokens must be computed?

# %% id="predict-disk"
asked = engine.submit(chat("979", where))
engine.run()
print(f"first turn: {len(chat('979', where)) + len(asked.tokens)} tokens; second prompt: {len(again)} tokens")
### BEGIN SOLUTION
my_computed = 23
### END SOLUTION

predict("10-disk", my_computed, unit="tokens")

# %% id="disk"
import tempfile
from pathlib import Path

from kvlab.memory import DiskTier


def served(tokens):
    """Start a server, ask it, and end it: answer, tokens computed, and what it says of its disk."""
    engine = Engine(model, 24, prefix="hash", tiers=[DiskTier(folder.name, 64)], checked=True)
    answer, computed = ask(engine, tokens)
    disk = engine.stats().tiers[0]
    engine.close()  # waits until all is written
    return answer, computed, disk


# %% id="disk-run"
folder = tempfile.TemporaryDirectory()
served(chat("979", where))
files = sorted(Path(folder.name).rglob("*.kv"))
answer, computed, disk = served(again)
print(f"{len(files)} files of {files[0].stat().st_size:,} bytes; after a restart {computed} of {len(again)} tokens computed")
print("the same answer as without a disk:", answer == ask(Engine(model, 24), again)[0])
why = f"all of the prompt but the {len(files)} full blocks that were found, {len(files)} x {BLOCK_SIZE} tokens"
reveal("10-disk", computed, exact=why)

# %% [markdown] id="disk-flip-intro"
# Now a single bit changes in each file. Will Ana get nonsense?

# %% id="disk-flip"
for file in Path(folder.name).rglob("*.kv"):
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
answer, computed, disk = served(again)
print(f"{computed} of {len(again)} tokens computed; what the tier says: {disk.error}")
print("still the same answer:", answer == ask(Engine(model, 24), again)[0])
print(f"and the next server: {served(again)[1]} of {len(again)}")

# %% [markdown] id="disk-flip-after"
# A block that is not whole is dropped, computed and stored again. The next server computes 7: by now all nine full blocks of the second prompt are stored.

# %% [markdown] id="reload-intro"
# ## Recompute, reload or keep?
#
# Loading is not free. It starts with a **latency** until the first byte comes; then the bytes take their time. Storing took time as well, but nobody waited for it.
#
# ★☆☆ · core · 4 min

# %% id="ex-reload-seconds"
@exercise
def reload_seconds(num_blocks, block_bytes, bandwidth, latency=0.0):
    """Seconds to bring `num_blocks` blocks from a tier: `latency` once, then bytes at `bandwidth` a second. No blocks: 0.0"""
    ### BEGIN SOLUTION
    return latency + num_blocks * block_bytes / bandwidth if num_blocks else 0.0
    ### END SOLUTION


# %% [markdown] id="even-intro"
# The time to compute grows from the first token on. The time to load begins with the latency and then grows more slowly, unless the home is slow. Where do they meet?
#
# **Predict.** The 8B assistant on an A100, with a store in the network: 5 GB a second, but 10 ms until the first byte. The next cell says what a block takes. From how many tokens on is loading no slower than computing?

# %% id="predict-even"
from kvlab.serve.costmodel import HARDWARE, LLAMA_8B

block_bytes, size = BLOCK_SIZE * LLAMA_8B.kv_bytes, LLAMA_8B.parameters
computed_in = 2 * size * BLOCK_SIZE / HARDWARE["A100-80"].flops
print(f"{BLOCK_SIZE} tokens: computed in {1e3 * computed_in:.2f} ms; loaded in {1e3 * block_bytes / 5e9:.2f} ms, after the 10")
### BEGIN SOLUTION
my_length = 400
### END SOLUTION

predict("10-even", my_length, unit="tokens")

# %% [markdown] id="even-task"
# Write the rule, for any home and any GPU. (Without lab 08's floor: at least one token of the prompt runs in any case (**I7**) and reads the weights, so loading saves only arithmetic.)
#
# ★★☆ · core · 10 min

# %% id="ex-break-even"
@exercise
def break_even_tokens(block_size, block_bytes, bandwidth, latency, parameters, flops):
    """From how many tokens on (whole blocks, at least one) loading is no slower than computing.

    Python's None if no length is long enough. A tie is no slower.

    Loading: `latency` seconds once, then `block_bytes` a block at `bandwidth` bytes a second. Computing: two operations
    for each of `parameters` and each token, at `flops` a second.
    """
    ### BEGIN SOLUTION
    from math import ceil

    gain = 2 * parameters * block_size / flops - block_bytes / bandwidth  # seconds, for each block
    if latency <= gain:
        return block_size
    return ceil(latency / gain) * block_size if gain > 0 else None
    ### END SOLUTION


# %% id="even-use"
homes = {"host": (None, 0.01), "SSD": (7, 0.1), "network": (5, 10)}  # GB a second, ms until the first byte


def both(gpu, home, tokens=3000):
    """The break-even, and milliseconds to load and to compute `tokens` tokens."""
    speed, wait = homes[home]
    bandwidth, latency = 1e9 * speed if speed else gpu.host_bandwidth, wait / 1e3
    length = break_even_tokens(BLOCK_SIZE, block_bytes, bandwidth, latency, size, gpu.flops)
    load = reload_seconds(tokens // BLOCK_SIZE, block_bytes, bandwidth, latency)
    return length, 1e3 * load, 1e3 * 2 * size * tokens / gpu.flops


# %% id="even-reveal"
for gpu in ("A100-80", "H100"):
    for home in homes:
        length, load, compute = both(HARDWARE[gpu], home)
        pays = f"pays from {length} tokens on" if length else "never pays"
        print(f"{gpu:8} {home:8} loading {pays:24} 3,000 tokens: load {load:3.0f} ms, compute {compute:3.0f} ms")
reveal("10-even", both(HARDWARE["A100-80"], "network")[0])

# %% [markdown] id="even-after"
# The faster the GPU, the faster a home must be: an H100 computes a block in less time than one SSD brings it. (Real GPUs compute more slowly than data sheets say, so loading pays earlier.)
#
# And the third way, to **keep** the blocks where they are? It costs no time, but room:

# %% id="keep"
from kvlab.memory import CONTEXT, KV_BYTES, KV_TOKENS, LLAMA_3_8B

print(f"{KV_TOKENS // 3000} idle chats of 3,000 tokens fill all {KV_TOKENS:,} tokens of the GPU: no room to serve anybody")

# %% [markdown] id="keep-after"
# So: keep what is soon needed again while there is room; else reload from the break-even length on; recompute what is shorter.

# %% [markdown] id="virtual-intro"
# ## Without block tables: addresses are cheap
#
# Every kernel of labs 04 and 05 had to learn block tables. But processors have such a table of their own: with **virtual memory**, a program sees one run of addresses, and the hardware finds the physical page behind each. vAttention uses that. A request *reserves* addresses for its longest possible length, which costs nothing. A physical page is *mapped* when tokens come to lie in it. Keys and values look contiguous, so an unmodified kernel reads them.
#
# The smallest piece is now the GPU's page, usually of 2 MiB. (In lab 05, *page* was another word for block.) There is one range of addresses for the keys and one for the values of each layer, and no page serves two ranges.
#
# ★★☆ · core · 20 min

# %% id="ex-virtual-cache"
@exercise
class VirtualCache:
    """`num_pages` physical pages of `page_bytes` for all requests. `num_free` says how many are not mapped.

    token_bytes: a list with one entry for each address range that a request has: the bytes of a token there.
    """

    def __init__(self, num_pages, page_bytes, token_bytes):
        ### BEGIN SOLUTION
        self.num_free, self.page_bytes, self.token_bytes = num_pages, page_bytes, token_bytes
        self.most, self.mapped = {}, {}
        ### END SOLUTION

    def reserve(self, request, max_tokens):
        """Addresses for at most `max_tokens` tokens, and no page. UsageError if it has some already."""
        ### BEGIN SOLUTION
        if request in self.most:
            raise UsageError(f"{request} has addresses already")
        self.most[request], self.mapped[request] = max_tokens, 0
        ### END SOLUTION

    def grow(self, request, num_tokens):
        """It has `num_tokens` tokens in all now, never fewer than before. Returns the pages newly mapped for that.

        More than were reserved: UsageError. Too few free pages: OutOfPages(needed, free), where needed are the new
        ones. A refused call changes nothing.
        """
        ### BEGIN SOLUTION
        if num_tokens > self.most[request]:
            raise UsageError(f"{request} has addresses for {self.most[request]} tokens, not for {num_tokens}")
        pages = sum(-(-num_tokens * width // self.page_bytes) for width in self.token_bytes)
        new = pages - self.mapped[request]
        if new > self.num_free:
            raise OutOfPages(new, self.num_free)
        self.mapped[request], self.num_free = pages, self.num_free - new
        return new
        ### END SOLUTION

    def free(self, request):
        """It ends. Returns the pages given back."""
        ### BEGIN SOLUTION
        del self.most[request]
        pages = self.mapped.pop(request)
        self.num_free += pages
        return pages
        ### END SOLUTION


# %% [markdown] id="virtual-predict"
# **Predict.** The 8B assistant's model has 32 layers. Ana's *first* token is written. How many MiB are mapped with pages of 2 MiB? (A block of 16 tokens, all layers together, also has 2 MiB.)

# %% id="predict-first"
### BEGIN SOLUTION
my_mib = 128
### END SOLUTION

predict("10-first-token", my_mib, unit="MiB")

# %% id="virtual-use"
from kvlab.memory import address_ranges

page, ranges = 2 * 2**20, address_ranges(LLAMA_3_8B)
cache = VirtualCache(KV_BYTES // page, page, ranges)
cache.reserve("ana", CONTEXT)
print(f"{len(ranges)} ranges of {ranges[0]:,} bytes a token; block: {BLOCK_SIZE * LLAMA_3_8B.bytes_per_token // 2**20} MiB")
first_pages = cache.grow("ana", 1)
more = next(n for n in range(2, CONTEXT) if cache.grow("ana", n))
print(f"token 1 maps {first_pages} pages; the next are mapped at token {more:,}")
why = f"keys and values of 32 layers are {len(ranges)} ranges, and each needs a page of 2 MiB of its own"
reveal("10-first-token", first_pages * page // 2**20, exact=why)

# %% [markdown] id="virtual-measure"
# Now the 200 conversations, each at its final length. There is a way out: put all layers of a token side by side, so that keys and values need one range each, and let each layer look at its **slice**. (A layer's tokens then lie apart, with the other layers' bytes between; most kernels take such strides.) Or smaller pages, for which vAttention's authors changed the GPU's driver.

# %% id="virtual-trace"
from kvlab.memory import lesson_trace, published_table


def beside(page_bytes, ranges, trace):
    """The share of the mapped bytes that holds tokens."""
    cache, pages = VirtualCache(KV_BYTES // page_bytes, page_bytes, ranges), 0
    for request in trace:
        cache.reserve(request, request.total)
        pages += cache.grow(request, request.total)
        cache.free(request)
    return sum(request.total for request in trace) * sum(ranges) / (pages * page_bytes)


# %% id="virtual-table"
trace, sliced = lesson_trace(), address_ranges(LLAMA_3_8B, sliced=True)
rows = {"2 MiB pages": (page, ranges), "64 KiB pages": (2**16, ranges), "2 MiB pages, sliced": (page, sliced)}
for name, layout in rows.items():
    print(f"{name:20} {beside(*layout, trace):6.1%} of what is mapped holds tokens")
(paged,) = published_table(trace, policies=["16-token blocks"])
print(f"{paged.policy:20} {paged.share_held:6.1%}")

# %% [markdown] id="virtual-real"
# With slices, little is left of the difference. What blocks still do better is sharing (labs 06 and 07): what two requests share must be whole pages here, mapped twice.
#
# Your CPU can do all this too. Here are real addresses, and the memory behind them as Linux *measures* it. An attention that has never heard of blocks reads them. (Elsewhere the next cell says only that it needs Linux.)

# %% id="virtual-linux"
from kvlab.compute import LayerShape, VirtualKV
from torch.nn.functional import scaled_dot_product_attention

try:
    kv = VirtualKV([LayerShape(2, 32, 32)], rows=4, max_tokens=8192, num_pages=64, page_bytes=2**16)
    kv.reserve("ana")
    for tokens in (0, 1, 256, 257):
        kv.grow("ana", tokens)
        print(f"grow to {tokens:3}: {kv.cache.reserved_bytes:,} bytes of addresses, {kv.cache.resident_bytes():7,} of memory")
    keys, values = (one.transpose(0, 1) for one in kv.tokens("ana", 0))
    # PyTorch's own attention, with the last key in place of a query
    print("attention over them:", tuple(scaled_dot_product_attention(keys[:, -1:], keys, values).shape))
except UsageError as needs:
    print(needs)

# %% [markdown] id="heads-intro"
# ## Extra: one cache on several GPUs
#
# A home may also be too small for one model. Then each GPU, a **rank**, gets a run of the query heads, and the KV heads that these read. Blocks, slots and tables are the same on every rank, so *one* block table serves all. With more ranks than KV heads, several hold a copy of the same one.
#
# ★★☆ · extra · 12 min

# %% id="ex-shard-heads"
@exercise
def shard_heads(heads, kv_heads, ranks):
    """For each rank a tuple (its query heads, the KV heads that they read, copies: how many ranks hold each of those).

    The first two are lists of the whole model's numbers; query head h reads KV head h // (heads // kv_heads). UsageError if
    heads do not divide over kv_heads or ranks, or if neither of kv_heads and ranks divides the other.
    """
    ### BEGIN SOLUTION
    if heads % ranks or heads % kv_heads or (kv_heads % ranks and ranks % kv_heads):
        raise UsageError(f"{heads} heads and {kv_heads} KV heads do not divide over {ranks} ranks")
    each, shards = heads // ranks, []
    for rank in range(ranks):
        mine = list(range(rank * each, (rank + 1) * each))
        shards.append((mine, sorted({head // (heads // kv_heads) for head in mine}), max(1, ranks // kv_heads)))
    return shards
    ### END SOLUTION


# %% id="heads-use"
from kvlab.memory import rank_shape

def run(numbers):
    return f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"


for ranks in (1, 2, 8, 16):
    queries, kv_heads, copies = shard_heads(32, 8, ranks)[-1]
    kib = rank_shape(LLAMA_3_8B, ranks).bytes_per_token // 1024
    print(f"ranks: {ranks:2}, the last has query heads {run(queries)}, KV head{'s' * (len(kv_heads) > 1)} {run(kv_heads)}, "
          f"{copies} cop{'y' if copies == 1 else 'ies'}; {kib} KiB a token on each, {kib * ranks} on all")

# %% [markdown] id="heads-run"
# To see it run, as two processes, in a terminal:
#
#     torchrun --nproc-per-node 2 -m kvlab.serve.ranks "Where is my courier?"

# %% [markdown] id="systems"
# ## Seven systems, one trace
#
# You have built most of what servers do. Here are seven, from their code or documents. Which shares nothing between requests, and which never send anybody away? (A *leaf* is a last piece of a tree: nothing hangs on it. `print(facts_table())` shows all questions, and the versions read.)

# %% id="systems-facts"
from kvlab.serve.systems import SYSTEMS, facts_table, outcome_table, side_by_side

print(facts_table(questions=("unit", "sharing", "preemption")))

# %% [markdown] id="systems-run"
# Each *policy* also runs: on the course's scheduler, with the same memory, GPU and chats under one system prompt. (So it says nothing about how fast the systems' own code is.)

# %% id="systems-figure"
from kvlab.view import systems_side_by_side

systems_side_by_side(side_by_side())

# %% [markdown] id="systems-after"
# A system that finds the beginnings of prompts computes less. One that takes room for a whole answer at the start admits few at once; pages of a thousand tokens leave room for fewer still. And one that admits too many sends them away again and again.
#
# Your turn. A chat is four requests, each with all that was said before; `slots` are tokens that fit on the GPU. Try a quarter and three times the chats, and four times the slots. When does it hardly matter which system you take?

# %% id="systems-try" tags=["nbval-ignore-output"]
from kvlab.serve.system_runs import Machine, chat_trace

num_chats, slots = 16, 6144
systems = list(SYSTEMS)  # or some of them: ["vLLM", "TGI"]

try:
    print(outcome_table(side_by_side(chat_trace(num_chats), Machine(capacity=slots), names=systems)))
except UsageError as refusal:
    print("With so few slots somebody's longest chat does not fit at all:", refusal)

# %% [markdown] id="hunt"
# ## Bug hunt: Ana's menu has become her order
#
# A server found the beginning of Ana's conversation in the pool: blocks without an owner, in the free list, that still have their text. The rest is in the tier, and needs blocks to be loaded into. Nothing fails, and the answer is nonsense.

# %% id="hunt-code"
class Pool:
    def __init__(self, holds):
        self.holds, self.free = dict(holds), list(holds)  # who is first in `free` is taken first

    def take(self, text):
        block = self.free.pop(0)
        self.holds[block] = text  # here its bytes are loaded
        return block


def bring_back(pool, chain):
    """The table for `chain`, a list of texts: blocks that still hold them, and then what the tier brings."""
    table = [block for text in chain for block, held in pool.holds.items() if held == text]
    table += [pool.take(text) for text in chain[len(table) :]]
    pool.free = [block for block in pool.free if block not in table]  # they have an owner now
    return table


# %% id="hunt-run"
chain = ["greeting", "menu", "order", "thanks"]
pool_before = {7: "menu", 4: "greeting", 2: None, 5: None}
pool = Pool(pool_before)
table = bring_back(pool, chain)
print(f"table {table}, blocks {pool.holds}")

# %% [markdown] id="hunt-task"
# Write the check that finds it: at which places does the table name a block with another text?

# %% id="hunt-solve"
def wrong_places(table, chain, holds):
    """The places (a list) of `table` whose block does not hold that place's text."""
    ### BEGIN SOLUTION
    return [place for place, (block, text) in enumerate(zip(table, chain)) if holds[block] != text]
    ### END SOLUTION


places = wrong_places(table, chain, pool.holds)
right = [n for n in range(len(chain)) if pool.holds[table[n]] != chain[n]]
others = wrong_places([2, 1, 1], ["a", "b", "a"], {1: "b", 2: "a"}) == [2] and wrong_places([5], ["a"], {5: "a"}) == []
print("not yet: nothing returned" if places is None else f"not yet: {places}" if places != right
      else f"wrong at {places}" if others else f"not yet: {places} is right here, but not for every table")

# %% id="hunt-question"
### BEGIN SOLUTION
cause = "b"
### END SOLUTION

recall("10-bug-hunt", cause)

# %% [markdown] id="hunt-after"
# Own first, then take. (What was found no longer counts as free.) Mend it:

# %% id="hunt-mend"
def bring_back_safely(pool, chain):
    """As `bring_back`, but no block that was found is handed out."""
    ### BEGIN SOLUTION
    table = [block for text in chain for block, held in pool.holds.items() if held == text]
    pool.free = [block for block in pool.free if block not in table]
    return table + [pool.take(text) for text in chain[len(table) :]]
    ### END SOLUTION


# %% id="hunt-mend-try"
def judged(holds, texts):
    """The table that the mended server makes, and what is wrong with it."""
    pool = Pool(holds)
    table = bring_back_safely(pool, texts) or []
    bad = [n for n, text in enumerate(texts) if n >= len(table) or pool.holds.get(table[n]) != text]
    free = [block for block in table if block in pool.free]
    lost = [block for block in holds if block not in table and block not in pool.free]
    wrong = {"no block with its text at places": bad, "in the table and still in free": free, "in no table, not in free": lost}
    return table, [f"{what}: {which}" for what, which in wrong.items() if which]


for holds, texts in (pool_before, chain), ({1: None, 9: "menu", 6: None, 3: "greeting"}, chain[:3]):
    mended, wrong = judged(holds, texts)
    print(f"table {mended}:", "not yet. " + "; ".join(wrong) if wrong else "as it should be")

# %% [markdown] id="say"
# ## Say it out loud
#
# In forty seconds: where can blocks live besides the GPU's pool, when does it pay to bring them back, and what does vAttention do without block tables?

# %% id="say-it"
### BEGIN SOLUTION
my_words = """Blocks of idle chats go to tiers: host memory, then disk, which survives a restart. One is found only once its
store is done, pinned while it is loaded, and has a checksum. Loading pays from the break-even length on, if loading a
block takes less time than computing it. vAttention reserves addresses and maps pages on demand, so unmodified kernels work;
its price is the size of a page."""
### END SOLUTION

say_it("10", my_words)

# %% id="close-lab"
close_lab("10")
folder.cleanup()

# %% [markdown] id="read-on"
# ## Read on
#
# - Prabhu et al., ASPLOS 2025, [arXiv 2405.04437](https://arxiv.org/abs/2405.04437): vAttention.
# - [LMCache](https://docs.lmcache.ai/): tiers beneath vLLM.
# - `kvlab/memory/tiers.py` and `kvlab/serve/tiering.py`: your tier as the engine uses it, with bytes that move meanwhile.
# - Next comes [lab 11](11_serve_it.ipynb): serve it.

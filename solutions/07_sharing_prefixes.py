# %% [markdown] id="title"
# # 07 · Sharing prefixes
#
# *Ninety minutes. Needs PyTorch for courier; no GPU needed.*

# %% [markdown] id="able"
# ## What you will be able to do
#
# - let strangers share the beginning of their prompts, although none of them knows of the others;
# - say what belongs in a block's hash, and what goes wrong when a part of it is missing;
# - keep what nobody needs until the room is needed, and give up the right block then;
# - build the same cache as a radix tree, and say where the two differ;
# - measure what it saves, and what it costs where it cannot help.

# %% id="setup" tags=["nbval-ignore-output"]
from kvlab.course import *
from kvlab.memory import BLOCK_SIZE, CachedBlock, RadixNode

open_lab("07")

# %% [markdown] id="recall"
# ## Recall
#
# From labs 01, 03 and 06, without looking. Run the cell, then put a letter in quotes in place of each `...`.

# %% id="recall-questions"
### BEGIN SOLUTION
which_copied = "b"
depends_on = "c"
count_zero = "a"
### END SOLUTION

recall("07-which-copied", which_copied)
recall("07-depends-on", depends_on)
recall("07-count-zero", count_zero)

# %% [markdown] id="problem"
# ## Every customer's prompt begins with the same 1,000 tokens
#
# The food-delivery assistant is told the same rules before each conversation. In lab 06, ten drafts shared a prompt because one request forked. Ana and Ben are strangers: two requests, minutes apart, and nobody tells the server
# that they begin alike. It computes the rules twice and keeps them twice.
#
# **Predict.** Ben's prompt is those 1,000 tokens and 100 of his own; Ana's, with the same 1,000, is still in memory. Blocks have 16 tokens, and full blocks can be shared. How many of Ben's tokens must be computed?

# %% id="predict-computed"
### BEGIN SOLUTION
my_computed = 108
### END SOLUTION

predict("07-computed", my_computed, unit="tokens")

# %% id="prompts"
rules = list(range(1000))  # any token ids will do
ana, ben = rules + [5001] * 100, rules + [5002] * 100
print(f"{len(ana) // BLOCK_SIZE} full blocks of {BLOCK_SIZE} in each prompt")

# %% [markdown] id="hash-intro"
# ## A block needs a name that says what is in it
#
# Comparing Ben's prompt with all of memory would take too long. So each full block gets a **hash** once it is written (**I8**), and a dictionary leads from the hash to the block. (Partly filled blocks have none: their next token would change it.)
#
# What must the hash depend on? Two conversations may have the same 16 tokens in their second block, and still other keys and values there, because those depend on everything before. So each hash is made from the **hash of the block before** and the block's own tokens: a **hash chain**.
# And not only tokens count: the same text gives other values under another adapter, and two companies may insist not to share at all (a salt). All that goes into a **tag**, a tuple such as `("adapter 3", None)`; only equal tags may meet.
#
# **I9**: equal hash means equal tokens, equal adapter and equal salt, all the way to the start. (Use `hashlib.sha256(repr(x).encode()).hexdigest()`. vLLM takes SHA-256 too: Python's `hash()` is so short that somebody could find two texts with the same.)
#
# ★★☆ · core · 12 min

# %% id="ex-block-hashes"
@exercise
def block_hashes(tokens, block_size, tag=()):
    """A list with a key for each full block: equal if all tokens up to its end are equal, and the tag."""
    ### BEGIN SOLUTION
    from hashlib import sha256

    keys, before = [], tag
    for end in range(block_size, len(tokens) + 1, block_size):
        before = sha256(repr((before, tokens[end - block_size : end])).encode()).hexdigest()
        keys.append(before)
    return keys
    ### END SOLUTION


# %% id="hash-use"
ana_keys, ben_keys = block_hashes(ana, BLOCK_SIZE), block_hashes(ben, BLOCK_SIZE)
equal = sum(one == other for one, other in zip(ana_keys, ben_keys))
tagged = sum(one == other for one, other in zip(ana_keys, block_hashes(ana, BLOCK_SIZE, ("adapter 3", None))))
print(f"Ana and Ben: {equal} of {len(ana_keys)} keys are equal; Ana with and without an adapter: {tagged}")

# %% [markdown] id="hit-intro"
# ## Look up until the first miss
#
# Ben's request walks along its hashes and takes over the blocks that it finds. What is a block worth if the one before it is missing? And what if *everything* is found? A model gives the next token only by computing the one before it, so a hit must leave at least one (**I7**).
#
# ★★☆ · core · 8 min

# %% id="ex-longest-hit"
@exercise
def longest_hit(hashes, block_of, num_tokens, block_size):
    """The blocks (a list) that hold the longest known beginning of a prompt; at least one token stays to be computed.

    hashes: those of the prompt's full blocks. block_of: {hash: block}. num_tokens: of the whole prompt.
    """
    ### BEGIN SOLUTION
    blocks = []
    for key in hashes[: (num_tokens - 1) // block_size]:
        if key not in block_of:
            break
        blocks.append(block_of[key])
    return blocks
    ### END SOLUTION


# %% id="hit-use"
block_of = {key: block for block, key in enumerate(ana_keys)}
hit = longest_hit(ben_keys, block_of, len(ben), BLOCK_SIZE)
again = longest_hit(ana_keys, block_of, len(ana_keys) * BLOCK_SIZE, BLOCK_SIZE)
print(f"Ben: {len(hit)} blocks found, {len(ben) - len(hit) * BLOCK_SIZE} tokens to compute")
print(f"{len(ana_keys)} full blocks sent again: {len(again)} found, {BLOCK_SIZE} tokens to compute")
shared = len(rules) % BLOCK_SIZE  # at the end of the rules, in a block that Ben's own words fill up
why = f"the last {shared} of the {len(rules):,} rules share a block with Ben's own words, and only full blocks are found"
reveal("07-computed", len(ben) - len(hit) * BLOCK_SIZE, exact=why)

# %% [markdown] id="evict-intro"
# ## Free is not forgotten
#
# Ana ends, and nobody owns her blocks. Should their hashes go? The bytes stay where they are until somebody writes over them, and she may come back with her next question. So a block without an owner lies in the free list *with its hash*. When another request needs the room, the hash goes: the block is **evicted**.
#
# Which goes first? What nobody asked for in the longest time: **least recently used**. But all blocks of a prompt were used at the same time, and a chain is looked up from its head. Without its head, the tail is never found, and takes up room.
#
# Each entry of `cached` has `block`, `parent` (the block before it in its chain, or `None`), `owners` and `last_used`. A block may go when nobody owns it and no cached block follows it.
#
# ★★★ · core · 15 min

# %% id="ex-evict"
@exercise
def evict(cached, count):
    """The numbers of up to `count` blocks to give up, as a list in the order in which they go; `cached` stays as it is.

    Each is, of those that may go by then, the least recently used; of equals, any.
    """
    ### BEGIN SOLUTION
    left, gone = list(cached), []
    while len(gone) < count:
        parents = {entry.parent for entry in left}
        ends = [entry for entry in left if not entry.owners and entry.block not in parents]
        if not ends:
            break
        oldest = min(ends, key=lambda entry: entry.last_used)
        left.remove(oldest)
        gone.append(oldest.block)
    return gone
    ### END SOLUTION


# %% id="evict-use"
greeting, menu, letter = CachedBlock(0, None, 1, 9), CachedBlock(4, 0, 0, 9), CachedBlock(7, 0, 0, 2)
print(f"one of three: {evict([greeting, menu, letter], 1)}; as many as may go: {evict([greeting, menu, letter], 3)}")

# %% [markdown] id="predict-dora"
# **Predict.** Your three functions are a whole prefix cache. Below, they serve 12 blocks of 4 tokens. Dora asks only what others have asked before: 16 tokens, a greeting and a menu, all still in memory. How many tokens are computed for her?

# %% id="predict-dora-cell"
### BEGIN SOLUTION
my_dora = 4
### END SOLUTION

predict("07-dora", my_dora, unit="tokens")

# %% [markdown] id="play"
# ## Play: who owns which block, and who could be found?
#
# Go through it event by event. When Ben ends, which of his blocks become free, and which of them can still be found? Erik needs more room than there is: what goes first, and why not the greeting? What does Fay pay for that?

# %% id="explorer"
from kvlab.view import prefix_explorer

story = prefix_explorer(block_hashes, longest_hit, evict).start(event=6)
story

# %% id="reveal-dora"
dora = story.at(event=6).values["moment"]
why = "one token must be left, and a hit is made of whole blocks, so a block of 4 is computed again"
reveal("07-dora", 4 * len(dora.computed), exact=why)

# %% [markdown] id="tree-intro"
# ## The same cache as a tree
#
# SGLang keeps no hashes. It keeps the prompts themselves, as a **radix tree**: the path from the root to a node spells the beginning of a prompt. A node holds a run of tokens and their slots; where two prompts part, it has two children. A tree can share to the token, where hashes know only full blocks.
#
# What if a prompt parts in the *middle* of a node's run? A request **locks** the node with which its hit ends, so that neither this nor any node before it is evicted; it must not lock tokens it does not use. So the node is **split** there. Whoever reads the whole reads both parts, so front and rear both have the locks that the node had. And the old object must become the *rear*: who locked it will unlock from its end, up along `parent`.
#
# `RadixNode(tokens, slots, parent, locks=0)` has these as attributes, and `children`, a dictionary by first token. An empty tree is `RadixNode()`.
#
# ★★★ · core · 20 min

# %% id="ex-radix-match"
@exercise
def radix_match(root, tokens):
    """(node, slots): the slots of the longest known beginning of `tokens`, and the node that ends exactly there.

    A node within which the match ends is split. Nothing known: (root, []), the root that was given.

        before:  root -- [1, 2, 3, 4]           after a match of [1, 2, 9]:  root -- [1, 2] -- [3, 4]
                         locks 1                                             locks 1   locks 1, the old object

    The check builds its trees with the course's radix_insert; you write your own next.
    """
    ### BEGIN SOLUTION
    node, slots = root, []
    while len(slots) < len(tokens) and tokens[len(slots)] in node.children:
        node = node.children[tokens[len(slots)]]
        rest, n = tokens[len(slots) :], 0
        while n < min(len(rest), len(node.tokens)) and rest[n] == node.tokens[n]:
            n += 1
        if n < len(node.tokens):
            front = RadixNode(node.tokens[:n], node.slots[:n], node.parent, node.locks)
            front.parent.children[front.tokens[0]] = front
            node.tokens, node.slots, node.parent = node.tokens[n:], node.slots[n:], front
            front.children[node.tokens[0]] = node
            node = front
        slots += node.slots
    return node, slots
    ### END SOLUTION


# %% [markdown] id="insert-intro"
# ## Two compute the same: one copy must go
#
# When a prompt is computed, it goes into the tree. Match it first, and hang what is new below. But Ana and Ben may have computed the same tokens *at the same moment*, into different slots, since neither could find the other. The tree keeps the first. The other slots are in nobody's books: a **leak**, unless you say which they are.
#
# Careful: slots that the request *had from the tree* are not free.
#
# ★★☆ · core · 12 min

# %% id="ex-radix-insert"
@exercise
def radix_insert(root, tokens, slots):
    """Add `tokens`, computed into `slots`; returns (a list) those of `slots` that are free, as the tree has others."""
    ### BEGIN SOLUTION
    node, known = radix_match(root, tokens)
    if len(known) < len(tokens):
        child = RadixNode(tokens[len(known) :], slots[len(known) :], node)
        node.children[child.tokens[0]] = child
    return [mine for mine, theirs in zip(slots, known) if mine != theirs]
    ### END SOLUTION


# %% id="tree-use"
root = RadixNode()
radix_insert(root, [1, 2, 3, 4], [10, 11, 12, 13])
radix_insert(root, [1, 2, 8, 9], [10, 11, 14, 15])  # the first two slots were a hit
print("computed twice, so free:", radix_insert(root, [1, 2, 8, 9], [10, 11, 16, 17]))
for node in root.walk():
    print("   " * len(node.path()), node.tokens, "in slots", node.slots)

# %% [markdown] id="measure"
# ## Measure: what is found?
#
# Five loads, each of some dozens of requests: one system prompt for all; chats that send everything said so far with each turn; questions behind five worked examples; trees of thoughts, in which each thought branches three ways; and requests that have nothing in common, where the cache can only cost.
#
# **Predict.** In the chats of five turns, what share of all prompt tokens is found?

# %% id="predict-turns"
### BEGIN SOLUTION
my_turns = 90
### END SOLUTION

predict("07-turns", my_turns, unit="%")

# %% id="traces"
from kvlab.memory import few_shot, multi_turn, no_sharing, replay_prefixes, shared_prefix, sharegpt_like, tree_of_thoughts

traces = {
    "system prompt": shared_prefix(60, seed=7, shared=1000),
    "chats": multi_turn(12, turns=5, seed=7),
    "few-shot": few_shot(60, seed=7, shots=5),
    "tree of thoughts": tree_of_thoughts(3, seed=7, branches=3),
    "no sharing": no_sharing(sharegpt_like(60, seed=7), seed=7),
}

# %% id="found"
def hits(trace, index, block_size, slots=65_536):
    return replay_prefixes(trace, index, slots // block_size, block_size).hits


print(f"{'':17}  asked    hash    tree  tree over tokens")
for name, trace in traces.items():
    by_hash, by_tree, by_token = hits(trace, "hash", 16), hits(trace, "radix", 16), hits(trace, "radix", 1)
    more = 100 * (by_token.share - by_hash.share)
    print(f"{name:17} {by_hash.asked:6,}  {by_hash.share:6.1%}  {by_tree.share:6.1%}  {by_token.share:6.1%}  (+ {more:.1f} points)")
reveal("07-turns", round(100 * hits(traces["chats"], "hash", 16).share, 1))

# %% [markdown] id="found-after"
# With equal blocks, chain and tree find the same. To the token, the tree finds up to 1.6 points more: the rest of the last shared block. What does it cost to ask? Here is the time of all bookkeeping for a request, first with an index that never finds anything:

# %% id="cost" tags=["nbval-ignore-output"]
from functools import partial
from timeit import repeat

from kvlab.memory import Match


class Nothing:
    """An index that never finds anything."""

    def __init__(self, pool, block_size):
        self.match, self.publish = lambda tokens: Match([], 0), lambda tokens, blocks: {}


# your numbers will jump; only the last column differs clearly
for name, trace in traces.items():
    indexes = ((Nothing, 16), ("hash", 16), ("radix", 16), ("radix", 1))
    spent = [min(repeat(partial(hits, trace, *index), number=1, repeat=3)) / len(trace) * 1e6 for index in indexes]
    print(f"{name:17}", "none {:4.0f}, hash {:4.0f}, tree {:4.0f}, tree over tokens {:5.0f} microseconds".format(*spent))

# %% id="cost-computing"
from kvlab.serve.costmodel import HARDWARE, LLAMA_8B, preemption_costs

computing, _ = preemption_costs(LLAMA_8B, HARDWARE["A100-80"])  # lab 08 builds it
print(f"computing 1,000 tokens of an 8B model takes an A100 at least {1000 * computing(1000):.1f} milliseconds")

# %% [markdown] id="cost-after"
# So asking is cheap even where nothing is shared. Bookkeeping for each single token is dear: a tree may also be cut at blocks.
#
# And if memory is short? The chats again, in smaller pools:

# %% id="pressure"
for blocks in (4096, 300, 200, 100):
    share = hits(traces["chats"], "hash", 16, slots=16 * blocks).share
    print(f"{blocks:5,} blocks: {share:6.1%} found")

# %% [markdown] id="papers"
# ## Beside the papers
#
# Kwon et al. put one example (80 tokens) or five (341 tokens) before each sentence to translate, and measured how many times as much throughput they had as an earlier system. We count how many times fewer prompt tokens are computed. Those are not the same, but both grow with the shared part.

# %% id="papers-use"
# one task, and before each question one example of 80 or 341 tokens
for tokens, published in ((80, 1.67), (341, 3.58)):
    ours = hits(few_shot(60, seed=7, tasks=1, shots=1, shot=tokens), "hash", 16)
    fewer = ours.asked / (ours.asked - ours.found)
    print(f"{tokens} shared tokens: throughput x {published} in the paper; {ours.share:.1%} found here, x {fewer:.2f} fewer computed")
shares = [hits(trace, "radix", 1).share for name, trace in traces.items() if name != "no sharing"]
print(f"Zheng et al.: 50 to 99 % found, over all their loads; here {min(shares):.0%} to {max(shares):.0%} where anything is shared")

# %% [markdown] id="courier-intro"
# ## courier: the same words, and less work
#
# Three questions, one after another, about one order, which comes first in each prompt. Sharing must never change what comes out (**I12**).

# %% id="courier"
# takes some twenty seconds
from kvlab.models import EXAMPLE_ORDER, load_courier
from kvlab.serve import Engine

model, tokenizer = load_courier()


def prompt(question):
    chat = [{"role": "system", "content": EXAMPLE_ORDER}, {"role": "user", "content": question}]
    return tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)


# %% id="courier-run"
questions = ["Where is my courier?", "When will my order arrive?", "How much did I pay?"]


def answers(prefix):
    engine = Engine(model, 200, prefix=prefix, checked=True, fill=float("nan"))  # every invariant, after every step
    said = []
    for question in questions:
        said.append(engine.submit(prompt(question)))
        engine.run()
    return [one.tokens for one in said], engine.projected_tokens


# %% id="courier-compare"
plain, computed = answers(None)
for tokens in plain:
    print("-", tokenizer.decode(tokens, skip_special_tokens=True))
print(f"without a prefix cache {computed} tokens computed")
for prefix in ("hash", "radix"):
    shared, fewer = answers(prefix)
    print(f"{prefix:5} {fewer} tokens computed; the same answers: {shared == plain}")

# %% [markdown] id="extra"
# ## Extra: who goes next?
#
# If room is short, the order decides: whoever's prompt is in the cache *now* should be served before it is evicted. But then a request with nothing in the cache waits, perhaps for ever. So give everybody a **patience**: nobody goes before one who has been overtaken that often.
#
# ★★☆ · extra · 10 min

# %% id="ex-pick-next"
@exercise
def pick_next(found, overtaken, patience):
    """The place in the queue (oldest first, not empty) of who goes next: most tokens found, the older of equals.

    found, overtaken: for each, tokens in the cache, and how often a younger one went first. Nobody goes before one
    who has been overtaken `patience` times: choose among all up to and including the first of those.
    """
    ### BEGIN SOLUTION
    best = 0
    for place, length in enumerate(found):
        if length > found[best]:
            best = place
        if overtaken[place] >= patience:
            break
    return best
    ### END SOLUTION


# %% id="order-code"
def served(queue, patience):
    """The order in which a queue is served if the cache has room for one task's examples; each letter is a task."""
    waiting, order = [(task, 0) for task in queue], ""
    while waiting:
        found = [600 * order.endswith(task) for task, _ in waiting]
        place = pick_next(found, [times for _, times in waiting], patience)
        order += waiting[place][0]
        waiting = [(task, times + (i < place)) for i, (task, times) in enumerate(waiting) if i != place]
    return order


# %% id="order-use"
for patience in (0, 2, 16):
    order = served("abcabcabcabc", patience)
    found = sum(one == other for one, other in zip(order, order[1:]))
    print(f"patience {patience:2}: {order}, {found} of {len(order)} find their examples")

# %% [markdown] id="hunt"
# ## Bug hunt: Dora asks for the greeting and reads Carl's complaint
#
# A server keeps the entries of freed blocks, as you do. For texts of one block, this is its whole cache, with the text itself as the key:

# %% id="hunt-code"
class Cache:
    def __init__(self, num_blocks):
        self.free, self.block_of, self.content = list(range(num_blocks)), {}, {}

    def find(self, text):
        block = self.block_of.get(text)
        if block in self.free:
            self.free.remove(block)  # it has an owner again
        return block

    def take(self, text):
        block = self.free.pop(0)
        self.block_of[text], self.content[block] = block, text
        return block


# %% id="hunt-events"
def books(events):
    """After each event: (event, where the entries lead, what the blocks hold)."""
    cache, block = Cache(2), {}
    for name, what in events:
        if what == "ends":
            cache.free.append(block[name])
        else:
            found = cache.find(what)
            block[name] = cache.take(what) if found is None else found
        yield f"{name}: {what}", dict(cache.block_of), dict(cache.content)


events = [("ana", "greeting"), ("ben", "menu"), ("ana", "ends"), ("ben", "ends"), ("carl", "complaint"), ("dora", "greeting")]
for event, leads, holds in books(events):
    print(f"{event:15} entries {leads}  blocks {holds}")

# %% [markdown] id="hunt-task"
# Dora finds her greeting in block 0. Find the *first* event after which an entry leads to a block that holds another text. (**I9** forbids it.)

# %% id="hunt-solve"
from kvlab.course.hunts import judge_event


def first_broken(events):
    """The first event after which some entry leads to a block with another text."""
    ### BEGIN SOLUTION
    for event, leads, holds in books(events):
        if any(holds[block] != text for text, block in leads.items()):
            return event
    ### END SOLUTION


steps = list(books(events))
right = [leads.items() <= {text: block for block, text in holds.items()}.items() for _, leads, holds in steps]
judge_event(first_broken(events), [event for event, _, _ in steps], right)

# %% id="hunt-question"
### BEGIN SOLUTION
cause = "b"
### END SOLUTION

recall("07-bug-hunt", cause)

# %% [markdown] id="hunt-after"
# Dropping the hash when a block is *freed* would be safe, and no cache would be left. The moment is when it is taken for something else. Mend it:

# %% id="hunt-mend"
def take(cache, text):
    """A free block for `text`. What it held before can be found no more; if never taken, it held nothing."""
    ### BEGIN SOLUTION
    block = cache.free.pop(0)
    cache.block_of.pop(cache.content.get(block), None)
    cache.block_of[text], cache.content[block] = block, text
    return block
    ### END SOLUTION


cache, wanted = Cache(2), {"menu": 1, "complaint": 0}
for text in ("greeting", "menu", "complaint"):
    block = take(cache, text)
    cache.free.append(block)  # its owner ends
print(cache.block_of, "- as it should be" if cache.block_of == wanted else f"- not yet: {wanted}")

# %% [markdown] id="say"
# ## Say it out loud
#
# In forty seconds: how do strangers share the beginning of their prompts? What is in a block's hash, and why is a freed block not yet forgotten?

# %% id="say-it"
### BEGIN SOLUTION
my_words = """Each full block is found by a hash of the block before it, its own tokens and the tag. A new request takes over
blocks until the first miss, but always computes at least one token. A freed block keeps its hash until somebody else takes it;
the least recently used goes first, the tail before the head. SGLang does the same with a radix tree."""
### END SOLUTION

say_it("07", my_words)

# %% id="close-lab"
close_lab("07")

# %% [markdown] id="read-on"
# ## Read on
#
# - Zheng et al., NeurIPS 2024, [arXiv 2312.07104](https://arxiv.org/abs/2312.07104), section 3: the tree, and who goes next.
# - Kwon et al., SOSP 2023, [arXiv 2309.06180](https://arxiv.org/abs/2309.06180), on shared prefixes: section 4.4 and section 6.4.
# - `kvlab/memory/prefix.py` and `radix.py`: both caches as the course's engine runs them.
# - Next comes [lab 08](08_scheduling.ipynb): what if even eviction cannot make room for the next token?

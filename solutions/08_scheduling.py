# %% [markdown] id="title"
# # 08 · Scheduling and preemption
#
# *Ninety minutes. Needs PyTorch for courier; no GPU needed.*

# %% [markdown] id="able"
# ## What you will be able to do
#
# - fill a step: who runs how many tokens, and who may begin;
# - say who must leave when a token needs a block and none is free, and why never the first;
# - decide between recomputing and swapping, with your hardware's numbers;
# - measure what paging, swapping and a watermark are worth, and make recomputing, swapping and the watermark lose.

# %% id="setup" tags=["nbval-ignore-output"]
from kvlab.course import *
from kvlab.errors import OutOfBlocks

open_lab("08")

# %% [markdown] id="recall"
# ## Recall
#
# From labs 01, 03 and 06, without looking. Run the cell to see the questions, then put a letter in quotes in place of each `...`.

# %% id="recall-questions"
### BEGIN SOLUTION
step_bound = "a"
when_taken = "c"
draft_ends = "b"
### END SOLUTION

recall("08-step-bound", step_bound)
recall("08-when-taken", when_taken)
recall("08-draft-ends", draft_ends)

# %% [markdown] id="problem"
# ## The memory is full, and everybody wants one token more
#
# With blocks on demand, more customers are served at once. Nobody knows how long their answers will be. So sooner or later a token needs a block, and none is free. The server cannot wait: whoever could give blocks back is waiting for blocks too.
#
# The **scheduler** decides, anew before every step, who runs, who begins, and who must leave: **continuous batching**. It sees only numbers.

# %% [markdown] id="admit-intro"
# ## Who may begin?
#
# The oldest who waits comes first. If it does not fit, nobody goes past it: otherwise short requests would overtake a long one for ever. (Lab 07's patience also prevents that; here it is 0.) What must fit? All of its tokens at once. Somebody who had to leave after half an answer comes back with prompt *and* answer.
#
# And if that takes the last block? Then the next token of anybody who runs makes somebody leave. So a few blocks stay free: the **watermark**. One exception: if nobody runs, nobody needs them, and a large request must not wait for ever (**I10**).
#
# ★★☆ · core · 12 min

# %% id="ex-admit"
@exercise
def admit(waiting, free, spare, block_size, running):
    """How many of `waiting`, from its head, begin now.

    waiting: a list of (prompt, answered) tokens, the oldest first. free: free blocks, of which `spare` must be left,
    unless nobody runs. running: how many ran before; who has just been admitted runs too, for those behind.
    """
    ### BEGIN SOLUTION
    for count, (prompt, answered) in enumerate(waiting):
        free -= -(-(prompt + answered) // block_size)
        if free < (spare if running + count else 0):
            return count
    return len(waiting)
    ### END SOLUTION


# %% id="admit-use"
queue = [(100, 0), (40, 90), (600, 0), (16, 0)]
for free in (10, 20, 60):
    print(f"{free} blocks free, 4 of them to spare: {admit(queue, free, 4, 16, running=3)} begin")

# %% [markdown] id="step-intro"
# ## A long prompt must not stop everybody
#
# If a prompt of thousands of tokens runs in one step, that step takes many times as long as the others, and all who read their answers see them stand still. So a step has a **token budget**. Those who decode come first, a token each. What is left goes to prompts under way, then to those who wait. Running a prompt is called **prefill**. One that is too long runs a piece and goes on in the next step: **chunked prefill**.
#
# ★★☆ · core · 12 min

# %% id="ex-schedule-step"
@exercise
def schedule_step(jobs, budget):
    """A dictionary {name: tokens} of those that run any tokens in the next step, at most `budget` together.

    jobs: a list of (name, state, left) in order of arrival. state: "decoding" (left is 1), "prompt" (under way) or
    "waiting" (not begun), with `left` tokens to run.
    """
    ### BEGIN SOLUTION
    step = {}
    for now in ("decoding", "prompt", "waiting"):
        for name, state, left in jobs:
            count = min(left, budget)
            if state == now and count > 0:
                step[name] = count
                budget -= count
    return step
    ### END SOLUTION


# %% id="step-use"
left = {"ana": 1, "ben": 1, "carl": 70, "dora": 20}  # Ana and Ben decode, Carl and Dora have just come
begun = {"ana", "ben"}
for number in range(1, 5):
    state = {name: "decoding" if n == 1 else "prompt" if name in begun else "waiting" for name, n in left.items()}
    jobs = [(name, state[name], left[name]) for name in left]
    step = schedule_step(jobs, 32)
    print(f"step {number}: {step}, {sum(step.values())} tokens")
    begun |= set(step)
    left = {name: max(1, count - step.get(name, 0)) for name, count in left.items()}

# %% [markdown] id="victim-intro"
# ## Who must leave?
#
# No block is free, and Ana needs one. Somebody gives up all their blocks and waits: **preemption**. Whose work is the least loss? The most recent's: it has run for the shortest time. And if it always were the oldest, perhaps nobody would ever finish. So the first in order never leaves while others run (**I11**), and is sure to end.
#
# Does it matter who asks? And what if there is nobody else?
#
# ★☆☆ · core · 8 min

# %% id="ex-choose-victim"
@exercise
def choose_victim(running, asks):
    """`asks` needs a block: the name of who must leave, the last in order. It may be `asks`. None if `asks` runs alone.

    running: a list of (name, priority, arrival), in any order, `asks` among them. The smallest priority is served
    first, and among equals the smallest arrival.
    """
    ### BEGIN SOLUTION
    if len(running) < 2:
        return None
    return max(running, key=lambda job: (job[1], job[2]))[0]
    ### END SOLUTION


# %% id="victim-use"
running = [("ana", 0, 1), ("ben", 0, 2), ("carl", 1, 0)]
print("Carl's priority is the lowest:", choose_victim(running, "ana"))
print("without him:", choose_victim(running[:2], "ana"), "- even if he asks himself:", choose_victim(running[:2], "ben"))

# %% [markdown] id="cost-intro"
# ## Throw it away, or carry it out?
#
# The victim's keys and values can be dropped, and its tokens run again later: **recompute**. Or they go to the host's memory and come back: **swap**. Which is faster?
#
# Running many tokens at once is arithmetic: two operations for each parameter and token. But no step is shorter than reading the weights once. A swap carries bytes over the link to the host, and later back.

# %% id="cost-given"
from kvlab.memory import BLOCK_SIZE, blocks_needed
from kvlab.serve.costmodel import HARDWARE, LLAMA_8B

a100 = HARDWARE["A100-80"]  # by its data sheet, not rounded
print(f"the assistant: {LLAMA_8B.parameters / 1e9:.1f} billion parameters, {LLAMA_8B.kv_bytes // 1024} KiB of KV a token")
print(f"an A100: {a100.flops / 1e12:.0f} trillion operations a second; {a100.bandwidth / 1e9:,.0f} GB a second from its "
      f"memory, {a100.host_bandwidth / 1e9:.0f} GB a second each way to the host")

# %% [markdown] id="swap-predict"
# **Predict.** Ben has 1,000 tokens. With these numbers, from the data sheet, how many times as long does it take to recompute them as to swap them, out and in?

# %% id="predict-swap"
### BEGIN SOLUTION
my_swap = 5
### END SOLUTION

predict("08-swap", my_swap, unit="times")

# %% [markdown] id="recompute-intro"
# First, the time to run a victim's tokens again.
#
# ★☆☆ · core · 6 min

# %% id="ex-recompute-seconds"
@exercise
def recompute_seconds(num_tokens, parameters, flops, weight_bytes, bandwidth):
    """Seconds to run `num_tokens` tokens in one step: arithmetic at `flops` operations a second, while the weights are
    read once at `bandwidth` bytes a second. No tokens: 0.0.
    """
    ### BEGIN SOLUTION
    if num_tokens == 0:
        return 0.0
    return max(2 * parameters * num_tokens / flops, weight_bytes / bandwidth)
    ### END SOLUTION


# %% [markdown] id="swap-intro"
# A swap copies every block, there and back. Each copy takes its bytes over the link's bandwidth (bytes a second, each way), and `per_copy` seconds to begin, however small it is.
#
# ★☆☆ · core · 5 min

# %% id="ex-swap-seconds"
@exercise
def swap_seconds(num_blocks, block_bytes, bandwidth, per_copy=0.0):
    """Seconds to copy `num_blocks` blocks to the host, and later back."""
    ### BEGIN SOLUTION
    return 2 * num_blocks * (block_bytes / bandwidth + per_copy)
    ### END SOLUTION


# %% id="cost-use"
def both(tokens, block_size=BLOCK_SIZE, per_copy=0.0, model=LLAMA_8B):
    """Milliseconds: to recompute, and to swap."""
    again = recompute_seconds(tokens, model.parameters, a100.flops, model.weight_bytes, a100.bandwidth)
    blocks, block_bytes = blocks_needed(tokens, block_size), model.kv_bytes * block_size
    return 1e3 * again, 1e3 * swap_seconds(blocks, block_bytes, a100.host_bandwidth, per_copy)


print("a single token: recompute {:.1f} ms, all of it reading weights; swap {:.1f} ms".format(*both(1)))

# %% id="cost-reveal"
for tokens in (50, 200, 1000, 4000):
    print("{:5,} tokens: recompute {:6.1f} ms, swap {:5.1f} ms".format(tokens, *both(tokens)))
again, swapped = both(1000)
reveal("08-swap", round(again / swapped, 2))

# %% [markdown] id="cost-small"
# On paper, swapping wins. Kwon et al., with OPT-13B, found the two about equal for blocks of 16 to 64 tokens, and swapping far behind for small ones: each copy has to begin. Suppose that takes 100 microseconds for all layers of a block (a guess):

# %% id="cost-blocks"
from kvlab.memory import PRESETS
from kvlab.serve.costmodel import ModelSize

opt = ModelSize.of(PRESETS["OPT-13B"], 12.85e9, heads=40)
print(f"{'1,000 tokens':15}{'the assistant':35}OPT-13B, {opt.kv_bytes // 1024} KiB a token")
for size in (1, 4, 16, 64, 256):
    times = (both(1000, size, 100e-6, model) for model in (LLAMA_8B, opt))
    columns = "   ".join("recompute {:.1f} ms, swap {:5.1f} ms".format(*pair) for pair in times)
    print(f"blocks of {size:3}: {columns}")

# %% [markdown] id="cost-blocks-after"
# For OPT-13B the two come much closer from 16 on. The assistant has a sixth of the bytes to carry, for more than half of the arithmetic, so swapping wins clearly. (vLLM today always recomputes. What it copies to the host is a cache beneath its pool, as in lab 10.)

# %% [markdown] id="plan-intro"
# ## Two drafts leave together
#
# The host has blocks of its own, so a table must be written anew. Ben's two drafts share their prompt (lab 06). If each were moved by itself, the prompt would lie on the host twice, and afterwards also here: the sharing would be lost, when memory is short. So a shared block is copied *once*, and both new tables name it.
#
# The plan is only numbers; somebody else copies. If there is too little room, it must refuse before anything has moved (**I13**): the server then recomputes.
#
# ★★★ · core · 15 min

# %% id="ex-swap-plan"
@exercise
def swap_plan(tables, free):
    """(new tables, copies): move the blocks of `tables` into blocks of the list `free`, each once.

    copies: a list of (block, its new place). Too few free blocks: `OutOfBlocks(needed, there)`.
    """
    ### BEGIN SOLUTION
    different = list(dict.fromkeys(block for table in tables for block in table))
    if len(different) > len(free):
        raise OutOfBlocks(len(different), len(free))
    copies = list(zip(different, free))
    place = dict(copies)
    return [[place[block] for block in table] for table in tables], copies
    ### END SOLUTION


# %% id="plan-use"
drafts = [[12, 5, 30], [12, 5, 7]]
away, out = swap_plan(drafts, [0, 1, 2, 3, 4])
back, home = swap_plan(away, [21, 22, 23, 24])
print(f"on the host {away}, copies {out}\nback again  {back}, copies {home}")

# %% [markdown] id="measure"
# ## Measure: what is paging worth?
#
# You may have no GPU of that size, so we simulate: *the engine's own scheduler* on the engine's own memory, with steps that take as long as the data sheet allows.
#
# **Predict.** On an A100, 3,000 requests wait for the 8B assistant, their lengths drawn like those of our 200 conversations. How many times the tokens a second does paging reach, compared with reserving the full context for each?

# %% id="predict-gain"
### BEGIN SOLUTION
my_gain = 2
### END SOLUTION

predict("08-gain", my_gain, unit="times")

# %% id="gain"
from kvlab.memory import make_trace
from kvlab.memory.lengths import lesson_lengths
from kvlab.serve.costmodel import step_cost
from kvlab.serve.simulate import simulate

load, gain, runs = make_trace("lesson", *lesson_lengths(1, 3000)), {}, {}
for gpu in ("A100-80", "H100"):
    cost = step_cost(hardware=HARDWARE[gpu])
    full, paged = (simulate(load, policy, cost=cost, max_running=1000) for policy in ("full", "paged"))
    gain[gpu], runs[gpu] = paged.tokens_per_second / full.tokens_per_second, (full, paged)
    print(f"{gpu}: {full.tokens_per_second:,.0f} tokens a second with {full.peak} requests at once, "
          f"{paged.tokens_per_second:,.0f} with {paged.peak}: {gain[gpu]:.1f} times")
reveal("08-gain", round(gain["A100-80"], 2))

# %% [markdown] id="gain-why"
# At the peak 467 run, seven times 64, and the tokens do not even double, where lab 01 estimated about twice. (467 and not lab 00's 411: these requests are shorter on average than the 200, as printed below.) Where is the rest? So many run at the peak, and fewer on average. These prompts are long, and running them is arithmetic that no policy saves. And a step reads the keys and values of everybody who decodes: the more there are, the longer it takes. How much is each?

# %% id="gain-prompts"
prompts, answers = (sum(getattr(request, part) for request in load) for part in ("prompt", "answer"))
for gpu, (full, paged) in runs.items():
    same = prompts * step_cost(hardware=HARDWARE[gpu]).token / 1e12
    before, after = ((report.seconds - same) / report.steps for report in (full, paged))
    more, longer = paged.running / full.running, after / before
    print(f"{gpu}: {full.seconds:,.0f} s and {paged.seconds:,.0f} s with paging, {same:,.0f} s of both for the prompts")
    print(f"  the rest: {more:.1f} times as many at a time on average, in steps {longer:.1f} times as long, "
          f"makes {more / longer:.1f} times the tokens")

# %% id="gain-lengths"
from kvlab.memory import lesson_trace, published_table

known = [request.total for request in lesson_trace()]
(blocks,) = published_table(lesson_trace(), policies=["16-token blocks"])
print(f"{prompts / len(load):,.0f} tokens a prompt and {answers / len(load):,.0f} an answer, "
      f"{(prompts + answers) / len(load):,.0f} together; the {len(known)} have {sum(known) / len(known):,.0f}, "
      f"and {blocks.fit} of them fit")

# %% [markdown] id="paper"
# The paper's load is another one: OPT-13B, whose keys and values are large, on a 40 GB card, with ShareGPT's prompts, shorter than the assistant's. It counts requests a second at the same latency, and we the tokens a second of a full queue:

# %% id="paper-use"
from kvlab.memory import sharegpt_like
from kvlab.serve.costmodel import Hardware

cost = step_cost(opt, Hardware("A100-40", 1.555e12, 312e12, 40e9, 32e9))
chats, rate, slots = sharegpt_like(700, 0), {}, 15_696  # lab 02's 15,700, in whole blocks
for policy in ("full", "power of two", "oracle", "paged"):
    rate[policy] = simulate(chats, policy, capacity=slots, cost=cost, context=2048).tokens_per_second
said = {"full": " (the paper: 2.7 to 8 times)", "oracle": " (the paper: 1.7 to 2.7 times)"}
for policy, tokens in rate.items():
    more = f"paging reaches {rate['paged'] / tokens:.1f} times as many" if policy != "paged" else ""
    print(f"{policy:13} {tokens:6,.0f} tokens a second; {more}{said.get(policy, '')}".rstrip("; "))
assert 2 < rate["paged"] / rate["full"] < 4

# %% [markdown] id="timeline"
# ## See who leaves
#
# Short questions, long answers, and a pool too small for what they become: most fit at first, and then grow. Both charts show the same load. Before you run the cell, guess: which of the two ends first, and what do those who left do in the meantime?

# %% id="timeline-code"
from kvlab.serve.policies import Policies, always_recompute, always_swap
from kvlab.view import timeline


def beside(trace, capacity, hardware=a100, **options):
    """The same load, recomputed and swapped."""
    cost, swap = step_cost(hardware=hardware), Policies(swap=always_swap)
    return {
        "recomputed": simulate(trace, capacity=capacity, cost=cost, **options),
        "swapped": simulate(trace, capacity=capacity, cost=cost, host_blocks=100_000, policies=swap, **options),
    }


growing = make_trace("short questions, long answers", [16] * 300, [200] * 300)
timeline(beside(growing, 16_384))

# %% [markdown] id="break"
# ## Break it
#
# Each choice has a load in which it loses. Before each cell, say which line you expect to be slowest. First **recomputing**, on the load above:

# %% id="break-code"
def lengths(count, prompt, answer):
    return make_trace(f"{count} x {prompt} + {answer}", [prompt] * count, [answer] * count)


def show(trace, capacity, **options):
    found = beside(trace, capacity, **options)
    words = ", ".join(f"{name} {report.seconds:.2f} s ({report.preemptions} leave)" for name, report in found.items())
    print(f"{trace.name}: {words}")
    return found["recomputed"].seconds / found["swapped"].seconds


# %% id="break-recompute"
slower = show(lengths(300, 16, 200), 16_384)
target = 100 * (slower - 1)
print(f"recomputing takes {target:.0f} % longer")
assert target > 10

# %% [markdown] id="break-swap-intro"
# (That is the time of a whole load. Kwon et al. compared single preemptions, and found recomputing at most 20 % slower.) Now **swapping**. It seldom loses, since few blocks leave in one step. Two things help: the victims are short, so that recomputing them hides behind the reading of the weights, and eight GPUs share the link.

# %% id="break-swap"
from dataclasses import replace

h100 = HARDWARE["H100"]
for name, gpu in (("alone", h100), ("shared", replace(h100, host_bandwidth=h100.host_bandwidth / 8))):
    slower = show(lengths(200, 10, 100), 1024, hardware=gpu)
    print(f"  link {name}: swapping takes {100 * (1 / slower - 1):.1f} % longer")
assert slower < 0.97

# %% [markdown] id="break-watermark-intro"
# And the **watermark**: it prevents preemptions, and costs seats. None, a small one, and half of the pool:

# %% id="break-watermark"
for trace in (lengths(200, 1000, 600), lengths(200, 1000, 50)):
    took = {}
    for watermark in (0, 0.05, 0.5):
        seen = simulate(trace, capacity=65_536, watermark=watermark)
        took[watermark] = seen.seconds
        print(f"{trace.name}, watermark {watermark:4}: {seen.seconds:5.1f} s, {seen.preemptions:3} leave, "
              f"{seen.running:.0f} run on average")
    assert took[0.05] < took[0] < took[0.5]

# %% [markdown] id="break-yours"
# The small one is worth its seats. Half of the pool prevents all preemptions, and costs so many seats that it loses with both loads.
#
# Your turn: make recomputing lose by more than on the first load. Two directions help: more customers who begin at once, with short questions, and a pool in which a few hundred of them grow together.

# %% id="break-try" tags=["nbval-ignore-output"]
mine = 100 * (show(lengths(100, 50, 200), 8192) - 1)
print(f"recomputing takes {mine:.1f} % longer, to beat are {target:.1f} %: {'beaten' if mine > target else 'not yet'}")

# %% [markdown] id="courier-intro"
# ## courier, in far too little memory
#
# Six questions at once, in blocks of 4 tokens: first with room for all, then with room for two prompts and hardly an answer. *Your* `choose_victim` says who leaves. Whatever happens, every token must be the same (**I12**).

# %% id="courier"
from kvlab.models import EXAMPLE_ORDER, load_courier
from kvlab.serve import Engine

model, tokenizer = load_courier()
questions = ["Where is my courier?", "When will my order arrive?", "How much did I pay?"] * 2


def prompt(question):
    chat = [{"role": "system", "content": EXAMPLE_ORDER}, {"role": "user", "content": question}]
    return tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)


def leaves(running):
    name = choose_victim([(job.id, job.priority, job.arrival) for job in running], running[0].id)
    return next(job for job in running if job.id == name)


# %% id="courier-run"
def served(blocks, host_blocks=0, swap=always_recompute):
    policies = Policies(victim=leaves, swap=swap)
    engine = Engine(model, blocks, 4, host_blocks=host_blocks, policies=policies, checked=True, fill=float("nan"))
    asked = [engine.submit(prompt(question)) for question in questions]
    engine.run()
    return [one.tokens for one in asked], engine.stats()


large, seen = served(400)
print(f"large pool: {seen.preemptions} preemptions;", tokenizer.decode(large[0], skip_special_tokens=True))

# %% id="courier-small"
prompts = [blocks_needed(len(prompt(question)), 4) for question in questions]
small = 2 * max(prompts) + 1
for name, host, swap in (("recompute", 0, always_recompute), ("swap", 400, always_swap)):
    tokens, seen = served(small, host, swap)
    print(f"{small} blocks, {name}: {seen.preemptions} preemptions, {seen.swaps} swapped, "
          f"{seen.recomputed_tokens} tokens lost; the same tokens: {tokens == large}")

# %% [markdown] id="hunt"
# ## Bug hunt: a server that is busy for ever
#
# All processors are busy, nothing fails, and Ana gets no answer. This is the server, reduced to one request at a time:

# %% id="hunt-code"
def rounds(prompt, answer, num_blocks, block_size=4, most=12):
    """What happens to a lone request: (event, tokens), `most` events at most."""
    tokens = prompt
    for _ in range(most // 2):
        yield "admitted", tokens
        while tokens < prompt + answer and -(-(tokens + 1) // block_size) <= num_blocks:
            tokens += 1
        if tokens == prompt + answer:
            yield "finished", tokens
            return
        yield "preempted", tokens  # no block is free: the most recent leaves


for name, answer in (("ben", 5), ("ana", 12)):
    print(name, *(f"{event} at {tokens}" for event, tokens in rounds(6, answer, num_blocks=4)), sep=", ")

# %% [markdown] id="hunt-task"
# Ana holds *all* blocks when she leaves. So nothing will be different when she returns. Write how one sees it: find the first event that has happened before, in exactly the same state.

# %% id="hunt-solve"
def first_repeat(events):
    """The place of the first event that is equal to an earlier one, or None."""
    ### BEGIN SOLUTION
    seen = []
    for place, event in enumerate(events):
        if event in seen:
            return place
        seen.append(event)
    return None
    ### END SOLUTION


for name, answer in (("ben", 5), ("ana", 12), ("dora", 11)):
    events, place = list(rounds(6, answer, 4)), first_repeat(rounds(6, answer, 4))
    new = events[:place] if isinstance(place, int) else events
    fault = "not yet: an earlier event repeats one" if len(set(new)) < len(new) else ""
    if not fault and place is not None and events[place] not in new:
        fault = "not yet: this event is the first of its kind"
    print(f"{name}: {place} - {fault or 'as it should be'}")

# %% id="hunt-question"
### BEGIN SOLUTION
cause = "c"
### END SOLUTION

recall("08-bug-hunt", cause)

# %% [markdown] id="hunt-after"
# `choose_victim` gives None for one that is alone; the engine then raises an error with both numbers. Better still is not to begin: when a request is submitted, its prompt and the most it may answer are known.

# %% id="hunt-mend"
def can_ever_fit(prompt, answer, num_blocks, block_size=4):
    """Whether the request could end if it had the whole pool."""
    ### BEGIN SOLUTION
    return -(-(prompt + answer) // block_size) <= num_blocks
    ### END SOLUTION


for name, answer in (("ben", 5), ("carl", 10), ("dora", 11), ("ana", 12)):
    accepted, ends = can_ever_fit(6, answer, 4), "finished" in dict(rounds(6, answer, 4))
    fault = "" if accepted is ends else f"not yet: the server above {'ends it' if ends else 'never ends it'}"
    print(f"{name}: {'accepted' if accepted else 'refused when submitted'} - {fault or 'as it should be'}")

# %% [markdown] id="say"
# ## Say it out loud
#
# In forty seconds: what happens when a token needs a block and none is free? Who leaves, and what becomes of its keys and values?

# %% id="say-it"
### BEGIN SOLUTION
my_words = """The scheduler preempts the most recent, or the lowest priority, never the oldest. Its blocks are dropped and
recomputed later, or swapped to the host and back, a shared block once. It comes back when all its tokens fit again. A
watermark of free blocks makes that rare, and a request that could never fit is refused when it is submitted."""
### END SOLUTION

say_it("08", my_words)

# %% id="close-lab"
close_lab("08")

# %% [markdown] id="read-on"
# ## Read on
#
# - Kwon et al., SOSP 2023, [arXiv 2309.06180](https://arxiv.org/abs/2309.06180), section 4.5: preemption; section 6.2: the gain; section 7.3: recomputing beside swapping.
# - Agrawal et al., OSDI 2024, [arXiv 2403.02310](https://arxiv.org/abs/2403.02310): chunked prefill.
# - `kvlab/serve/scheduler.py`: your decisions as the engine makes them; `kvlab/serve/simulate.py`: the simulator.
# - Next comes [lab 09](09_smaller_caches.ipynb): what if each token cost half?

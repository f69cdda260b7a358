# %% [markdown] id="title"
# # 11 · Serve it
#
# *Ninety minutes. Needs PyTorch and the packages of `kvlab[lab]`; no GPU needed.*

# %% [markdown] id="able"
# ## What you will be able to do
#
# - run a real model on the parts that you wrote, and see which part is at fault when one is broken;
# - serve the same load in five ways, and say where each of them loses;
# - find the 2-4 times of the paper, or explain where they went;
# - let real clients stream from your engine, and see that nothing leaks when they go away;
# - answer the interview.

# %% id="setup" tags=["nbval-ignore-output"]
import json

from kvlab.course import *
from kvlab.memory import BlockPool

open_lab("11")

# %% [markdown] id="recall"
# ## Recall
#
# From labs 10, 07 and 08, without looking. Run the cell to see the questions, then put a letter in quotes in place of each `...`.

# %% id="recall-questions"
### BEGIN SOLUTION
reload = "b"
found_blocks = "a"
budget = "c"
### END SOLUTION

recall("11-reload", reload)
recall("11-shared-blocks", found_blocks)
recall("11-budget", budget)

# %% [markdown] id="own"
# ## Your parts, in the engine
#
# Every exercise that you passed is in your progress file. `Engine.from_my_parts` puts those that an engine needs into one, and finished parts in the place of the rest. Each call of yours is compared with the finished part, and every invariant is checked after every step.

# %% id="own-run"
from kvlab.models import EXAMPLE_ORDER, load_courier
from kvlab.serve import Engine

model, tokenizer = load_courier()


def prompt(question):
    chat = [{"role": "system", "content": EXAMPLE_ORDER}, {"role": "user", "content": question}]
    return tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)


engine = Engine.from_my_parts(model, num_blocks=256)
answers = [engine.submit(prompt(question)) for question in ("Where is my order?", "How do I use a promo code?")]
engine.run()
for answer in answers:
    print(tokenizer.decode(answer.tokens, skip_special_tokens=True))

# %% [markdown] id="own-table"
# Whose parts were these? Of yours, the table counts the calls; finished parts are not counted.

# %% id="own-whose" tags=["nbval-ignore-output"]
engine.parts

# %% [markdown] id="own-break"
# ## Break one on purpose
#
# Here is a `slot_mapping` that is off by one: each token goes into the slot of the one after it. What will the customer read?

# %% id="own-broken"
def off_by_one(table, start, stop, block_size):
    return [table[i // block_size] * block_size + i % block_size for i in range(start + 1, stop + 1)]


engine = Engine.from_my_parts(model, 256, mine={"slot_mapping": off_by_one}, saved=False)
answer = engine.submit(prompt("Where is my order?"))
engine.run()
print(tokenizer.decode(answer.tokens, skip_special_tokens=True))

# %% [markdown] id="own-broken-why"
# One sentence names the part, the call, and the invariant if it breaks one. The finished part answered that very call, so nothing wrong reached the customer. Break another one that these two questions call: `append_with_cow`, `paged_attention`, `longest_hit` or `schedule_step`, with the arguments that it had in its lab. (`choose_victim` would never be called, since no block is missing: `engine.parts` says so.)
#
# From here on we measure, so the checks are off: the finished engine runs.

# %% [markdown] id="load"
# ## One load, one memory
#
# Customers ask 64 questions at once. Most answers are short, and every eighth is a long one. There is memory for 4,096 tokens. Nobody knows beforehand who will get the long answer. So a server that reserves, as by lab 02's first policy, sets 512 tokens aside for each conversation, the most that it allows. (Prompt and longest answer would be less, and 12 would fit.)

# %% id="load-code"
import torch

torch.set_num_threads(1)
asked = ["Where is my order?", "Who brings it?", "What does it cost?", "Is there fish in the soup?",
         "Where does it go?", "How much did I pay?", "What did I order?", "How do I use a promo code?"]
load = [prompt(question) for question in asked] * 8
slots, longest, most = 4096, 512, 200
print(f"{len(load)} prompts of {min(map(len, load))} to {max(map(len, load))} tokens; "
      f"{slots // longest} times {longest} tokens fit, "
      f"or {slots // (max(map(len, load)) + most)} times a prompt and an answer of {most}")

# %% [markdown] id="static-intro"
# ## One by one, and in batches
#
# The first servers ran one request at a time. Then came the **static batch**: prompts are padded to the longest, and everybody stays until the longest answer has ended. Nobody joins meanwhile.
#
# What does that compute? Padding goes through the model like anything else. So does the row of somebody who ended long ago. Only the last token of an answer does not: it is sampled, and nothing follows that would need its keys.
#
# ★☆☆ · core · 6 min

# %% id="ex-static-tokens"
@exercise
def static_tokens(batch):
    """Tokens that a static batch computes. batch: a list of (prompt, answer) tokens, maybe empty."""
    ### BEGIN SOLUTION
    if not batch:
        return 0
    rows, width = len(batch), max(prompt for prompt, answer in batch)
    return rows * (width + max(answer for prompt, answer in batch) - 1)
    ### END SOLUTION


# %% [markdown] id="static-predict"
# **Predict.** In batches of 8, what share of the tokens that go through the model, in per cent, belongs to nobody?

# %% id="predict-padding"
### BEGIN SOLUTION
my_padding = 20
### END SOLUTION

predict("11-padding", my_padding, unit="%")

# %% id="static-run"
from kvlab.serve.ways import serve_in_batches, serve_with

runs = {"one by one": serve_in_batches(model, load, 1, most)}
runs["static batches"] = serve_in_batches(model, load, slots // longest, most)
lengths = [(len(ids), len(tokens)) for ids, tokens in zip(load, runs["one by one"].tokens)]
batches = [lengths[at:at + slots // longest] for at in range(0, len(lengths), slots // longest)]
computed, needed = sum(map(static_tokens, batches)), runs["one by one"].computed
assert computed == runs["static batches"].computed
print(f"answers of {min(n for _, n in lengths)} to {max(n for _, n in lengths)} tokens")
print(f"{needed:,} tokens one by one, {computed:,} in batches")
reveal("11-padding", round(100 * (1 - needed / computed), 1))

# %% [markdown] id="paged-intro"
# ## Reserved, paged, shared
#
# An engine lets somebody join whenever somebody ends: continuous batching, as lab 08 did it. How many it runs at once is a matter of memory. Reserving is the same engine, which admits only as many requests as have room for the longest conversation: each has that much set aside, whatever it will need.
#
# **Predict.** With 8 reserved conversations on one side: how many run at once in blocks of 16 taken on demand, in the same memory? And how many times the tokens a second?

# %% id="predict-ways"
### BEGIN SOLUTION
my_at_once = 30
my_gain = 3
### END SOLUTION

predict("11-at-once", my_at_once, unit="requests")
predict("11-gain", my_gain, unit="times")

# %% id="ways-run"
def fresh(block_size, **options):
    return Engine(model, slots // block_size, block_size, watermark=0, **options)


runs["reserved"] = serve_with(fresh(16, max_running=slots // longest), load, most)
runs["paged"] = serve_with(fresh(16), load, most)
runs["paged, shared"] = serve_with(fresh(16, prefix="hash"), load, most)
for name, run in runs.items():
    print(f"{name:15} {run.steps:5,} steps, {run.computed:6,} tokens computed, {run.peak:2} at once, "
          f"{100 * run.held / slots:3.0f} % of the memory holds tokens")
assert all(run.tokens == runs["one by one"].tokens for run in runs.values())
reveal("11-at-once", runs["paged"].peak)

# %% [markdown] id="ways-read"
# All five gave every customer the same tokens. The last number is the memory's fullest moment. With reservations it was 30 %, and the average is lower; the paper's 20 to 38 % are averages. With blocks, it was nearly all. With sharing it is more than all, since a token that several share counts for each.
#
# Fewer steps for the same tokens are fewer readings of all weights. In seconds:

# %% id="ways-times" tags=["nbval-ignore-output"]
from kvlab.view import served_ways

rates = {name: (run.tokens_per_second, run.peak) for name, run in runs.items()}
gain = rates["paged"][0] / rates["reserved"][0]
reveal("11-gain", round(gain, 2))
served_ways(rates, "courier on this machine, 64 questions")

# %% [markdown] id="ways-watch"
# See it while it runs: each square is a block. At the end none has an owner, and some can still be found by their hash.

# %% id="ways-live" tags=["nbval-ignore-output"]
from kvlab.view import watch

live = fresh(16, prefix="hash")
for ids in load:
    live.submit(ids, most)
watch(live, every=0.1).run()

# %% [markdown] id="ways-limits"
# Half the steps are not twice the speed. Paging computes as many tokens as before, and on a CPU most of a step's time is theirs. What it saves is what each step costs, however few its tokens: on a GPU, the reading of the weights.
#
# The gain is no constant. Set `slots = 8 * 4096` in the cell that begins with `import torch`, and run the cells from there to the chart again: what does paging gain now?

# %% [markdown] id="ways-eight"
# When you have run it: with eight times the memory, 64 reservations fit, as many as there are questions. So reserved and paged take the same steps, and paging gains nothing. (Fewer than 64 run at once all the same: the token budget lets only some prompts begin in a step, and short answers end meanwhile.) Sharing still gains, since it computes less.

# %% [markdown] id="large"
# ## The same for the 8B assistant
#
# The 3,000 requests of lab 08, on the data sheet's A100. Static batches and reservations hold 64 conversations of the full context.

# %% id="large-run"
from kvlab.memory import CONTEXT, KV_TOKENS, make_trace
from kvlab.memory.lengths import lesson_lengths
from kvlab.serve.costmodel import step_cost
from kvlab.serve.simulate import simulate
from kvlab.serve.ways import static_seconds

trace, cost = make_trace("lesson", *lesson_lengths(1, 3000)), step_cost()
alone = simulate(trace, max_running=1)
reports = {policy: simulate(trace, policy, max_running=1000) for policy in ("full", "paged")}
at_once = KV_TOKENS // CONTEXT
in_batches = alone.output_tokens / static_seconds(trace, at_once, cost)

# %% [markdown] id="large-share"
# And sharing: say the first 192 tokens of each prompt are the assistant's instructions, and lie in the pool already. They take room once and are not run again. Attention still reads them for each request, as our kernels do.

# %% id="large-shared"
from types import SimpleNamespace
from kvlab.memory import BLOCK_SIZE
from kvlab.serve.counted import CountedStore
from kvlab.serve.scheduler import Scheduler
from kvlab.serve.simulation import Simulation

class Sharing(CountedStore):
    def admit(self, job, spare):  # takes blocks for what follows the instructions, and says how many tokens were found
        super().admit(SimpleNamespace(id=job.id, length=job.length - 192), spare)
        return 192

store = Sharing((KV_TOKENS - 192) // BLOCK_SIZE, BLOCK_SIZE)
shared = Simulation(trace, Scheduler(store, max_running=1000), cost).run()

# %% id="large-figure"
large = {"one by one": (alone.tokens_per_second, 1), "static batches": (in_batches, at_once)}
for name, report in (("reserved", reports["full"]), ("paged", reports["paged"]), ("paged, shared", shared)):
    large[name] = report.tokens_per_second, report.peak
served_ways(large, "The 8B assistant on an A100, simulated")

# %% [markdown] id="where"
# ## Where are the 2-4 times?
#
# From static batches to reserved memory is the largest step, and it has nothing to do with blocks: somebody joins whenever somebody ends. Paging then adds less than twice. Lab 08 showed why: these prompts are long, and their arithmetic is the same for everybody. The paper compares with servers that did batch continuously, but at equal latency, with shorter prompts, and a model with large keys on a 40 GB card:

# %% id="where-run"
from kvlab.memory import PRESETS, sharegpt_like
from kvlab.serve.costmodel import Hardware, ModelSize

opt = ModelSize.of(PRESETS["OPT-13B"], 12.85e9, heads=40)
theirs = dict(capacity=15_696, context=2048)  # lab 02's 15,700, in whole blocks
theirs["cost"] = step_cost(opt, Hardware("A100-40", 1.555e12, 312e12, 40e9, 32e9))
full, paged = (simulate(sharegpt_like(700, 0), policy, **theirs) for policy in ("full", "paged"))
ours, paper = large["paged"][0] / large["reserved"][0], paged.tokens_per_second / full.tokens_per_second
prompts = sum(one.prompt for one in trace) * cost.token / 1e12 / reports["paged"].seconds
print(f"the assistant's load: {ours:.1f} times; {100 * prompts:.0f} % of the time with paging is arithmetic for prompts")
print(f"the paper's load:     {paper:.1f} times, compared with reserving the maximum")
assert 1 < ours < 2 < paper < 4

# %% [markdown] id="server"
# ## A server
#
# Now let clients in. The server speaks OpenAI's format on your machine's loopback, where nobody else reaches it, and takes any free port. It steps the engine of *your* parts, from a thread of its own. (Are packages missing? `pip install 'kvlab[http]'`.)

# %% id="server-start"
from contextlib import ExitStack
from kvlab.serve.http import serving

engine = Engine.from_my_parts(model, num_blocks=256)
opened = ExitStack()
server = opened.enter_context(serving(engine, tokenizer))

# %% [markdown] id="server-raw"
# A client sends a question as JSON. With `"stream": True` the answer comes piece by piece. This is what really goes over the wire:

# %% id="server-ask"
from urllib.request import Request, urlopen


def chat(question):
    return [{"role": "system", "content": EXAMPLE_ORDER}, {"role": "user", "content": question}]


def connect(question, **more):
    body = {"model": "courier", "messages": chat(question), "stream": True, "temperature": 0} | more
    headers = {"Content-Type": "application/json"}
    return urlopen(Request(f"{server.base_url}/chat/completions", json.dumps(body).encode(), headers), timeout=60)


# %% id="server-wire" tags=["nbval-ignore-output"]
with connect("Where is my order?") as reply:
    stream = reply.read().decode()
print(stream[:900])

# %% [markdown] id="events-intro"
# **Server-sent events**: lines that end with `\n`. One that begins with `data: ` carries a chunk, and the others mean nothing. A chunk has choices, and each adds its `delta`'s content, if there is any, to the text named by `index`. The last line of data says `[DONE]` and nothing else.
#
# ★★☆ · core · 12 min

# %% id="ex-stream-texts"
@exercise
def stream_texts(stream):
    """{index: text} of a streamed chat completion. stream: the whole body."""
    ### BEGIN SOLUTION
    texts = {}
    for line in stream.split("\n"):
        if not line.startswith("data: ") or line == "data: [DONE]":
            continue
        for choice in json.loads(line.removeprefix("data: "))["choices"]:
            texts[choice["index"]] = texts.get(choice["index"], "") + (choice["delta"].get("content") or "")
    return texts
    ### END SOLUTION


# %% id="events-use"
def ask(question, **more):
    with connect(question, **more) as reply:
        return stream_texts(reply.read().decode())


print(stream_texts(stream)[0])
print(ask("How late is it?", n=2, temperature=1, seed=1))

# %% [markdown] id="openai"
# That was all by hand. The `openai` client does the same, and cannot tell your server from another:

# %% id="openai-client"
try:
    from openai import OpenAI
except ImportError:
    print(ask("What did I order?")[0])
else:
    client = OpenAI(base_url=server.base_url, api_key="none")
    for chunk in client.chat.completions.create(
        model="courier", messages=chat("What did I order?"), stream=True, temperature=0
    ):
        print(chunk.choices[0].delta.content or "", end="")

# %% [markdown] id="crowd"
# Now 32 customers at once. The server's own counters are at `/metrics`, for a system such as Prometheus to read:

# %% id="crowd-run"
from concurrent.futures import ThreadPoolExecutor


def counter(name):
    lines = urlopen(f"{server.url}/metrics").read().decode().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"kvlab_{name} ")))


before = counter("generated_tokens_total")
with ThreadPoolExecutor(32) as crowd:
    texts = [reply[0] for reply in crowd.map(ask, asked * 4)]
expected = [tokenizer.decode(tokens, skip_special_tokens=True) for tokens in runs["one by one"].tokens[:32]]
print(f"{len(texts)} answers, all as one by one: {texts == expected}")
print(f"{counter('generated_tokens_total') - before} tokens; blocks free: {counter('blocks_free')} of {counter('blocks')}")

# %% [markdown] id="gone"
# And one who asks for a long answer, reads three lines, and closes the window. Do the blocks come back?

# %% id="gone-run"
from time import monotonic, sleep

before = counter("aborted_total")
with connect("How do I use a promo code?") as reply:
    for _ in range(3):
        reply.readline()
late = monotonic() + 20
while counter("running") and monotonic() < late:
    sleep(0.05)
print(f"{counter('running')} running, {counter('aborted_total') - before} aborted; "
      f"blocks free: {counter('blocks_free')} of {counter('blocks')}")

# %% id="server-stop"
opened.close()
engine.check()
print(f"stopped; {engine.stats().blocks_free} blocks free, and every invariant holds")

# %% [markdown] id="hunt"
# ## Bug hunt: a server that is full of nobody
#
# After a week a server refuses everybody. Nothing runs, and no block is free. (ATOM, AMD's engine, [mended such a fault](https://github.com/ROCm/ATOM/pull/1562) in 2026.) Its heart:

# %% id="hunt-code"
class Gone(Exception):
    """The client closed the connection."""


def answer_one(pool, words, send):
    blocks = pool.take(1)
    for word in words:
        send(word)
    pool.release(blocks)


def client(patience, heard):
    """What sends a word to a client, who goes away after `patience` words."""
    def send(word):
        if len(heard) == patience:
            raise Gone
        heard.append(word)
    return send


# %% id="hunt-show"
pool = BlockPool(4)
for patience in (9, 1, 9, 2):
    try:
        answer_one(pool, ["on", "the", "way"], client(patience, []))
        print(f"a client heard everything; {pool.num_free} blocks free")
    except Gone:
        print(f"a client went away after {patience}; {pool.num_free} blocks free")

# %% id="hunt-question"
### BEGIN SOLUTION
cause = "b"
### END SOLUTION

recall("11-bug-hunt", cause)

# %% [markdown] id="hunt-task"
# Mend it. Clients may go away at any word, anything else may fail, and somebody may press the stop button; the caller must still hear of it, whatever it was.

# %% id="hunt-solve"
def answer_safely(pool, words, send):
    """As `answer_one`, and the block comes back on every way out."""
    ### BEGIN SOLUTION
    blocks = pool.take(1)
    try:
        for word in words:
            send(word)
    finally:
        pool.release(blocks)
    ### END SOLUTION


# %% id="hunt-judge"
def seen(patience, words=("on", "the", "way")):
    """(words heard, the error that reached the caller, blocks that are gone)"""
    pool, heard, error = BlockPool(4), [], "no error"
    try:
        answer_safely(pool, map(say_word, words), client(patience, heard))
    except BaseException as trouble:
        error = type(trouble).__name__
    return len(heard), error, 4 - pool.num_free


def say_word(word):
    if word == "stop":
        raise KeyboardInterrupt
    return word.lower()


# %% id="hunt-cases"
cases = {"stays": (seen(9), (3, "no error", 0)), "goes at once": (seen(0), (0, "Gone", 0)),
         "goes later": (seen(2), (2, "Gone", 0)), "a word fails": (seen(9, ("on", None)), (1, "AttributeError", 0)),
         "the stop button": (seen(9, ("on", "stop")), (1, "KeyboardInterrupt", 0))}
text = "✗ {}: {} words heard, {} reached the caller, {} blocks gone; expected {}, {}, {}".format
written = any(got != (0, "no error", 0) for got, _ in cases.values())
for name, (got, wanted) in cases.items() if written else ():
    print(f"✓ {name}" if got == wanted else text(name, *got, *wanted))
if not written:
    print("○ answer_safely: nothing is written yet")

# %% [markdown] id="hunt-after"
# A client may also vanish while nothing is being sent: then no `send` raises, and somebody has to look at the connection.

# %% [markdown] id="say"
# ## The interview
#
# Three sentences that you will hear, and facts against each:

# %% id="say-facts"
from kvlab.memory import LLAMA_3_8B
from kvlab.view.figures_waste import PAPER

print(f"'It makes the cache smaller.' A token takes {LLAMA_3_8B.bytes_per_token // 1024} KiB in a block, and outside.")
print(f"'Reserving is safe.' {runs['reserved'].peak} at once, where {runs['paged'].peak} fit.")
print("'It changes the outputs.' The same tokens in all ways:", len({str(run.tokens) for run in runs.values()}) == 1)
print("Kwon et al., memory that held tokens:", *(f"{name} {100 * share:.1f} %;" for name, share in PAPER.items()))

# %% [markdown] id="say-prompt"
# Now aloud, in 30 seconds: why did early LLM servers waste most of their KV memory, and how do fixed-size blocks fix it?

# %% id="say-it"
### BEGIN SOLUTION
my_words = """A request's length is unknown, so servers reserved the maximum, and 20 to 38 % of the memory held tokens.
Fixed-size blocks are taken on demand through a block table, and only the last block is partly empty. So the batch is
larger, in the paper for 2-4 times the requests a second. Blocks are shared by copy-on-write, and preemption swaps or recomputes."""
### END SOLUTION

say_it("11", my_words)

# %% [markdown] id="say-more"
# They ask on, half a minute each. Run the cells to see the questions.

# %% id="say-no-block"
### BEGIN SOLUTION
no_block = """Somebody is preempted, the most recent and never the first. Its blocks are dropped and recomputed, or
swapped to the host, and it comes back when everything fits."""
### END SOLUTION

say_it("11-no-block", no_block)

# %% id="say-one-token"
### BEGIN SOLUTION
one_token = """The table would need an entry for each token, the kernel would lose its contiguous reads, and every copy
has to begin. With 16 to 32 tokens only half a block a request is lost."""
### END SOLUTION

say_it("11-one-token", one_token)

# %% id="say-outputs"
### BEGIN SOLUTION
outputs = """No, only the place of keys and values changes. Attention reads the same numbers through the table, shared or
not, and a test compares with generate()."""
### END SOLUTION

say_it("11-outputs", outputs)

# %% [markdown] id="home"
# ## A page to take home
#
# Your words, your predictions and your numbers. `page.save("my-kv-memory.md")` keeps it.

# %% id="home-page" tags=["nbval-ignore-output"]
page = take_home({
    "courier: paged over reserved, tokens a second": round(gain, 2),
    "courier: requests at once, reserved and paged": f"{runs['reserved'].peak} and {runs['paged'].peak}",
    "8B, the assistant's load: paged over reserved": round(ours, 2),
    "OPT-13B, the paper's load: paged over reserved": round(paper, 2),
})
page

# %% id="close-lab"
close_lab("11")

# %% [markdown] id="read-on"
# ## Read on
#
# - vLLM's `vllm/v1/core`: `kv_cache_manager.py`, `block_pool.py` and the scheduler beside them. You know most of it, some by other names.
# - [nano-vllm](https://github.com/GeeeekExplorer/nano-vllm): a whole engine in little code; read its block manager against yours.
# - Yu et al., OSDI 2022, [Orca](https://www.usenix.org/conference/osdi22/presentation/yu): continuous batching. Kwon et al., SOSP 2023, [arXiv 2309.06180](https://arxiv.org/abs/2309.06180): paging. Zheng et al., NeurIPS 2024, [arXiv 2312.07104](https://arxiv.org/abs/2312.07104): the radix tree.
# - `kvlab serve` on a command line serves any supported model; `kvlab/serve/http` is the server that you used.

# %% [markdown] id="title"
# # 00 · Start here: the server that stops at 64 requests
#
# *Ten minutes. Nothing to install beyond what opened this page; no GPU needed.*

# %% [markdown] id="able"
# ## What you will be able to do
#
# - say in two sentences what this course is about;
# - solve an exercise, ask for a hint, and read a verdict;
# - record a prediction and see how close it came.

# %% id="setup" tags=["nbval-ignore-output"]
from kvlab.course import *  # exercise, hint, help_me, solution, glossary, progress, predict, reveal, recall, say_it

open_lab("00")

# %% [markdown] id="story"
# ## A server is full, and most of its memory is empty
#
# A food-delivery app answers its customers with a support assistant: a model of the Llama 3 8B shape on a GPU with
# 80 GB. On Friday evening the assistant takes 64 conversations at once. The next customer has to wait.
# The dashboard says that the memory is full. Is it?
#
# We replay 200 simulated conversations of the assistant and ask two questions of each way to hand out the memory:
# how much of it holds something the model needs, and how many conversations fit at the same time?

# %% id="story-table"
from kvlab.memory import KV_TOKENS, lesson_trace, published_table

trace = lesson_trace()
print(f"{len(trace)} conversations, memory for {KV_TOKENS:,} tokens")
for row in published_table(trace, KV_TOKENS):
    print(f"{row.policy:22} {row.share_held:6.1%} in use   {row.fit:4} conversations fit")

# %% [markdown] id="story-why"
# ## Nobody knows how long an answer will be, so the server reserves too much
#
# While a model writes, it keeps, in every layer, a *key* and a *value* for every token it has read or written. Together they are the **KV cache**, and it has to stay in GPU memory until the answer is finished.
#
# The server of Friday evening sets aside room for the longest conversation it allows, because the next
# answer may be ten tokens long or two thousand. Most are short. So most of the room is never touched, and
# it is still not free: the first row of the table. A server that looks at the prompt and adds the longest answer is in the second row.

# %% [markdown] id="story-blocks"
# ## Blocks on demand give the memory back
#
# The third row cuts the same memory into small blocks and hands one out only when the last is full. A small table
# per conversation remembers which blocks are its own. Nothing about the model changes, and 6.4 times as many
# conversations fit. (The fourth row has larger blocks and does worse. Lab 03 asks why.)
#
# That idea is called **paged attention**, and in this course you build all of it: the blocks, the tables, the
# attention that reads through them, sharing, scheduling, and in the last lab a server that runs on your own parts.

# %% id="story-ratio"
full, _, blocks, _ = published_table(trace, KV_TOKENS)
print(f"{blocks.fit} / {full.fit} = {blocks.fit / full.fit:.1f} times as many conversations")

# %% [markdown] id="warmup"
# ## An exercise checks itself when you run it
#
# Every exercise is one cell. Replace the `...`, run the cell, and read the verdict below it.
#
# Room for one token is called a *slot*. Blocks come whole: a conversation of 20 tokens takes 32 slots when a block holds 16. Write the rule.
#
# ★☆☆ · core · 3 min

# %% id="ex-round-up-to-block"
@exercise
def round_up_to_block(num_tokens, block_size):
    """Slots taken by `num_tokens` tokens (>= 0) when memory comes in whole blocks of `block_size` slots (>= 1)."""
    ### BEGIN SOLUTION
    return -(-num_tokens // block_size) * block_size
    ### END SOLUTION


# %% [markdown] id="verdicts"
# One of three verdicts stands below an exercise:
#
# - **○ not attempted.** You have not written anything yet. The lab goes on with the finished part from `kvlab`.
# - **✗ and a sentence.** A case that went wrong, what your code seems to do, and what to try next. Until it passes, the lab goes on with the finished part here too.
# - **✓ and what was checked.** From now on the name means *your* code, also in the cells below.
#
# Try a wrong answer on purpose, `return num_tokens`, and look at what it says. Nothing can break: an endless
# loop is stopped, and the rest of the lab runs whatever the verdict.

# %% id="warmup-use"
for tokens in (0, 1, 16, 17, 20):
    print(f"{tokens:2} tokens take {round_up_to_block(tokens, 16):2} slots")

# %% [markdown] id="stuck"
# ## When you are stuck, ask
#
# - `hint()` gives a question first, then the idea, then nearly the code. `hint("round_up_to_block")` names the exercise.
# - `help_me()` shows the traceback of your last attempt, cut down to your own lines, and what your code printed.
# - `solution()` shows a solution beside yours. It is noted, not punished.
# - `glossary("KV cache")` says what a word means.
# - Pictures with sliders sleep when you reopen a notebook. Run their cell again, and they answer.
#
# Run the next cell for a first hint.

# %% id="stuck-hint" tags=["nbval-ignore-output"]
hint("round_up_to_block")

# %% [markdown] id="modes"
# ## No GPU is needed
#
# The first cell of each lab says what the lab needs and how it runs on this machine. Without a GPU every exercise of the course still works and is still
# checked: labs 00 to 03 are plain Python, the later labs run on the processor, and so do the GPU programs of lab 05, slowly but exactly. With a GPU
# the same cells show real timings as well.

# %% [markdown] id="doctor"
# If something seems to be wrong with the machine and not with your code, this says what is installed and what works. It is also the
# block to paste into a bug report; `kvlab doctor` prints the same in a terminal.

# %% id="doctor-report" tags=["nbval-ignore-output"]
from kvlab.cli.doctor import report

print(report())

# %% [markdown] id="predict"
# ## Guess before you measure
#
# A guess that turns out wrong is remembered far longer than a number that was only read. So each lab asks for a few
# before it shows the answer.
#
# The assistant's memory holds 524,288 tokens. **How many conversations of 1,267 tokens (the mean of the 200) fit, if not a slot is wasted?**
# Put your number in place of the `...`.

# %% id="predict-fit"
### BEGIN SOLUTION
my_guess = 400
### END SOLUTION

predict("00-fit", my_guess, unit="conversations")

# %% id="reveal-fit"
mean = sum(r.total for r in trace) / len(trace)
print(f"{KV_TOKENS:,} tokens, {mean:,.0f} in a conversation on average")
reveal("00-fit", int(KV_TOKENS / mean))

# %% [markdown] id="predict-after"
# With blocks of 16 the server reaches 411 of the 413 that are possible at all.

# %% [markdown] id="say"
# ## Say it out loud
#
# You know a thing when you can explain it without looking. Each lab ends with a short prompt. Say your answer aloud, note it
# in a sentence or two in place of the `...`, and run the cell: then it shows what a good answer covers.

# %% id="say-it"
### BEGIN SOLUTION
my_words = """A server reserves memory for the longest answer, because it cannot know the length, and most of that
memory never holds a token. Small blocks handed out on demand give it back, so far more requests run at once."""
### END SOLUTION

say_it("00", my_words)

# %% [markdown] id="close"
# ## Where you stand
#
# The last cell of a lab lists its exercises. `progress()` shows the whole course. It is kept in one file beside
# your notebooks; copy both to move to another machine.

# %% id="close-lab"
close_lab("00")

# %% [markdown] id="read-on"
# ## Read on
#
# - Next: [01 What a token costs](01_what_a_token_costs.ipynb).
# - The paper behind the course: Kwon et al., *Efficient Memory Management for Large Language Model Serving with
#   PagedAttention*, SOSP 2023, [arXiv 2309.06180](https://arxiv.org/abs/2309.06180).

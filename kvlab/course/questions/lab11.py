"""What lab 11 asks: its recall questions, and the interview with which the course ends."""

from __future__ import annotations

from kvlab.course.questions.form import Point, Recall, SayIt

RECALL: list[Recall] = [
    Recall("11-reload", "A chat's blocks lie in the host's memory, and its next turn comes. When is loading them back "
                        "better than computing them again?",
           choices={"a": "Always: computing is never faster than copying.",
                    "b": "When copying their bytes takes less time than running their tokens.",
                    "c": "Only when the pool is full."},
           answer="b",
           why="Bytes over the link's bandwidth on one side, arithmetic on the other. Long prompts are worth a copy, "
               "and very short ones may be computed sooner than a copy has begun."),
    Recall("11-shared-blocks", "Two prompts of 130 tokens begin with the same 100 tokens. How many blocks of 16 can "
                               "the second find?",
           choices={"a": "6.", "b": "7.", "c": "8."},
           answer="a",
           why="Only full blocks are found, and a block is the same only if all before it is: 96 of the 100 tokens "
               "fill 6 blocks. The seventh holds tokens in which the two prompts differ."),
    Recall("11-budget", "Why does a step have a token budget?",
           choices={"a": "The pool has room for so many tokens.",
                    "b": "The model cannot run more tokens at once.",
                    "c": "So that a long prompt does not make everybody who reads along wait."},
           answer="c",
           why="A step is as long as its tokens make it. Those who decode come first, and a long prompt runs in "
               "chunks beside them."),
    Recall("11-bug-hunt", "Why does the pool grow smaller with each client that goes away?",
           choices={"a": "The last line gives back the wrong block.",
                    "b": "send() raises, so the line that gives the block back is never reached.",
                    "c": "Clients that go away take more blocks than others."},
           answer="b",
           why="Whoever takes a block must give it back on every way out: at the end, when the client is gone, when "
               "anything fails.",
           reasons={"a": "It gives back the very block that it took, when it gets there.",
                    "c": "Each takes one. Count those that come back."}),
]

_SHORT = 30

SAY_IT: list[SayIt] = [
    SayIt("11", "Why did early LLM servers waste most of their KV memory, and how do fixed-size blocks fix it?",
          rubric=(Point("a request's final length is unknown, so servers reserved the maximum",
                        ("unknown", "nobody knows", "not known", "maximum")),
                  Point("only 20-38 % of the memory held tokens", ("20", "38 %", "a third", "most of it empty")),
                  Point("fixed-size blocks on demand, through a block table", ("block table", "on demand", "table")),
                  Point("waste only in each request's last block", ("last block",)),
                  Point("so larger batches, and in the paper 2-4x the throughput",
                        ("batch", "2-4", "throughput", "2 to 4")),
                  Point("blocks are shared, copy-on-write; preemption swaps or recomputes",
                        ("copy-on-write", "preempt", "recomput", "shared"))),
          model="Nobody knows how long an answer will be, so servers reserved the maximum, and only 20-38 % of the KV "
                "memory held tokens. Fixed-size blocks are taken on demand and found through a block table, as pages "
                "are by an operating system; waste is left only in each request's last block. So larger batches fit: "
                "in the paper 2-4 times the requests a second, less where prompts are long. Blocks can be shared and "
                "are copied on write. If none is free, somebody is preempted, and swapped or recomputed.",
          seconds=_SHORT),
    SayIt("11-no-block", "What happens when a token needs a block, and none is free?",
          rubric=(Point("somebody is preempted", ("preempt",)),
                  Point("the most recent or lowest priority; never the first, so that somebody ends",
                        ("most recent", "lowest priority", "never the first", "newest")),
                  Point("its blocks are dropped and recomputed, or swapped to the host and back",
                        ("recomput", "swap", "host")),
                  Point("it comes back when all its tokens fit again, and says the same as if it had never left",
                        ("comes back", "fit", "resume", "same tokens"))),
          model="The scheduler preempts somebody: the most recent, or the lowest priority, and never the first in "
                "order, so that one is sure to end. Its blocks are dropped and its tokens recomputed later, or they "
                "are swapped to the host and back. It comes back when all its tokens fit, and nobody sees in the text "
                "that it was away.",
          seconds=_SHORT),
    SayIt("11-one-token", "Blocks of one token would waste nothing. Why not?",
          rubric=(Point("the block table grows: an entry for every token", ("entry", "entries", "table")),
                  Point("the kernel loses its long contiguous reads", ("contiguous", "reads", "kernel", "gather")),
                  Point("each copy or swap of a block has to begin", ("copy", "copies", "swap")),
                  Point("16-32 balances both: half a block a request is next to nothing",
                        ("16", "balance", "half a block", "32"))),
          model="The table would have an entry for every token, and the kernel would look each key up by itself, "
                "without long contiguous reads. Each copy and each swap would have to begin for one token. "
                "Blocks of 16-32 tokens balance the two, since half a block for each request is next to nothing. "
                "(SGLang does take pages of one token, to share to the token, with kernels that read such pages.)",
          seconds=_SHORT),
    SayIt("11-outputs", "Does paging change what the model says?",
          rubric=(Point("no: only the place of keys and values changes", ("place", "where", "no,")),
                  Point("attention reads the same numbers, in the same order of tokens, through the table",
                        ("same numbers", "same keys", "through the table", "same values")),
                  Point("sharing and preemption do not either: a block is shared only if all before it is the same",
                        ("shar", "preempt", "copy")),
                  Point("a test shows it: greedy answers equal those of generate()", ("test", "generate", "equal"))),
          model="No. Only the place of keys and values changes: attention reads the same numbers through the table. "
                "Sharing does not either, as a block is found only if all the tokens before it are the same, and it "
                "is copied before anybody writes; and whoever is preempted goes on with the same tokens. A test shows "
                "it: greedy answers equal those of generate(). (A kernel may add in another order, and so round "
                "differently, as any two kernels may.)",
          seconds=_SHORT),
]

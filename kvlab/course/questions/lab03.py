"""What lab 03 asks: its recall questions, and what to say aloud at its end."""

from __future__ import annotations

from kvlab.course.questions.form import Point, Recall, SayIt

RECALL: list[Recall] = [
    Recall("03-kinds",
           "A request has 2,548 slots: a prompt of 500, and 40 of its 100 answer tokens are written. 540 slots are "
           "held, 60 will be used. What are the other 1,948?",
           choices={"a": "External fragmentation.",
                    "b": "Internal fragmentation.",
                    "c": "Reserved for later.",
                    "d": "Free."},
           answer="b",
           why="They are inside a reservation and will never be used, because the length was over-estimated. Later are "
               "the 60; external fragmentation lies between reservations; and nobody else can have these, so they are "
               "not free."),
    Recall("03-holes", "An arena has 40 free slots and refuses a request for 30. How can that be?",
           choices={"a": "No single hole has 30 slots.",
                    "b": "It keeps a reserve for the requests that run.",
                    "c": "First fit looks at the first hole only."},
           answer="a",
           why="A contiguous request needs one hole, and free slots in several holes do not add up: external "
               "fragmentation. First fit tries every hole, from the lowest on, until one is long enough."),
    Recall("03-memory-wall", "What bounds the number of conversations that one GPU can decode together?",
           choices={"a": "Its computing power.",
                    "b": "Its memory bandwidth.",
                    "c": "The memory that is left for keys and values beside the weights."},
           answer="c",
           why="Each conversation's keys and values have to lie in GPU memory. Bandwidth says how long a step takes, "
               "and while decoding the GPU computes little for each byte it reads."),
    Recall("03-bug-hunt", "Dora and Carl have the same block. What went wrong first?",
           choices={"a": "Both arrived at the same moment, and the pool gave one block to two.",
                    "b": "Carl's block was not cleared before Dora got it.",
                    "c": "Ana's block was given back twice: when she finished, and when she hung up."},
           answer="c",
           why="The second release put block 3 into the free list once more, and two later customers each took it. "
               "Clearing the block would hide the address and leave two conversations writing into it.",
           reasons={"a": "Carl came first and took the block; the free list still had it a second time, for Dora.",
                    "b": "Dora writes over Carl's tokens while he still needs them; what lay there before is no bug."}),
]

SAY_IT: list[SayIt] = [
    SayIt("03", "How do fixed-size blocks fix the waste? And then: why not blocks of one token?",
          rubric=(Point("the cache is a pool of blocks of a fixed size, such as 16 tokens",
                        ("pool", "fixed-size", "fixed size", "16")),
                  Point("a block table per request says where its blocks are, anywhere in memory",
                        ("table", "anywhere", "adjacent", "neighbour", "neighbor")),
                  Point("a block is taken only when the last one is full",
                        ("on demand", "only when", "last one is full", "is full", "as needed", "when needed",
                         "when it needs", "as it grows", "one at a time")),
                  Point("only the last block is partly empty; no holes are too small",
                        ("partly", "last block", "partially", "any hole", "no external", "half full", "half-full",
                         "half empty")),
                  Point("one-token blocks: long tables, many lookups, short reads",
                        ("lookup", "look-up", "look up", "tables long", "long table", "table sixteen", "longer table",
                         "larger table", "huge table", "table gets", "table grows", "short read", "reads short",
                         "every read", "small read", "overhead"))),
          model="The cache is a pool of blocks of 16 tokens, and each request has a table of its blocks, anywhere in "
                "memory. It takes a block only when its last one is full. So nothing is reserved, any hole will do, "
                "and only the last block is partly empty: 96 % in use in the paper, and on our trace 411 requests in "
                "place of 64. One-token blocks would waste nothing, but they make the table sixteen times as long and "
                "every read short.",
          seconds=30),
]

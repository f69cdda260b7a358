"""What lab 10 asks: its recall questions, and what to say aloud at its end."""

from __future__ import annotations

from kvlab.course.questions.form import Point, Recall, SayIt

RECALL: list[Recall] = [
    Recall("10-most-waste", "Where is all the waste of a request in blocks of 16 tokens?",
           choices={"a": "In its last block, which may be partly empty.",
                    "b": "In the holes between its blocks.",
                    "c": "In the blocks that were taken for tokens still to come."},
           answer="a",
           why="A block is taken when the last one is full, so at most 15 slots are empty, and blocks need not lie "
               "side by side. In this lab the smallest piece may be a page of the GPU, and there are many last ones.",
           reasons={"b": "Any free block will do, so no hole is too small.",
                    "c": "A block is taken only when a token needs it."}),
    Recall("10-hash-goes", "Ana's request has ended, and nobody owns her blocks. When can they no longer be found?",
           choices={"a": "At once, when the last owner leaves.",
                    "b": "After a fixed time.",
                    "c": "When they are taken for other tokens."},
           answer="c",
           why="A freed block keeps its hash and its bytes until the room is needed. Then both are gone, and this lab "
               "asks where a copy could be.",
           reasons={"a": "Then no chat could ever find its blocks again after its answer.",
                    "b": "No clock is asked. As long as nobody needs the room, they stay."}),
    Recall("10-same-table", "Keys and values move from 16 to 8 bits. What changes in a block table?",
           choices={"a": "Nothing: it names the same blocks of the same tokens.",
                    "b": "It has half as many entries.",
                    "c": "Each entry takes half the bytes."},
           answer="a",
           why="A table says which block a token is in, whatever a block's bytes are and wherever they lie. So a block "
               "can be smaller, or be copied to another home, and the table knows nothing of it.",
           reasons={"b": "A block still holds 16 tokens, so a request has as many blocks as before.",
                    "c": "An entry is a block's number. The bytes lie in the block."}),
    Recall("10-bug-hunt", "Why does the table name block 7 twice?",
           choices={"a": "The tier has the wrong text under \"menu\".",
                    "b": "Block 7 was found, but still stood at the head of the free list when a block was taken.",
                    "c": "Two customers own block 7.",
                    "d": "The pool has too few blocks."},
           answer="b",
           why="What was found had no owner yet. So it was handed out, for the order, and overwritten while the table "
               "already named it. Whoever finds a block must own it before taking any other.",
           reasons={"a": "The tier was asked for the order and the thanks alone.",
                    "c": "Nobody but Ana is there.",
                    "d": "Four texts, four blocks: with the right order they fit."}),
]

SAY_IT: list[SayIt] = [
    SayIt("10", "Where can blocks live besides the GPU's pool, when does it pay to bring them back, and what does "
                "vAttention do without block tables?",
          rubric=(Point("blocks of idle chats go to the host's memory or to disk", ("host", "disk", "ssd", "tier")),
                  Point("found only once the store is done; pinned while it is loaded",
                        ("store is done", "done storing", "pinned", "pin ")),
                  Point("loading pays from a length on, if loading a block is faster than computing it",
                        ("break-even", "break even", "length on", "faster than comput", "less time than")),
                  Point("on disk they outlive a restart, with a checksum", ("restart", "checksum", "outlive")),
                  Point("vAttention reserves addresses and maps pages on demand",
                        ("reserves addresses", "reserve addresses", "on demand", "virtual memory")),
                  Point("so unmodified kernels work, at the price of the page's size",
                        ("unmodified", "size of a page", "page size", "granularity", "large page"))),
          model="Blocks of idle chats are stored in tiers: the host's memory, and below it a disk, which outlives a "
                "restart and has a checksum for each block. One is found only when its store is done, and pinned while "
                "it is loaded. Loading pays from a certain length on, if loading a block takes less time than "
                "computing it. vAttention has no block tables: it reserves addresses and maps pages on demand, so "
                "unmodified kernels work, and its price is the size of a page.",
          seconds=40),
]

"""What lab 04 asks: its recall questions, and what to say aloud at its end."""

from __future__ import annotations

from kvlab.course.questions.form import Point, Recall, SayIt

RECALL: list[Recall] = [
    Recall("04-slot", "Blocks of 4 tokens, and the block table [5, 1, 6]: which slot belongs to token 9?",
           choices={"a": "9", "b": "25", "c": "29", "d": "7"},
           answer="b",
           why="Token 9 is in table entry 9 // 4 = 2, which is block 6, at offset 9 % 4 = 1: slot 6 * 4 + 1. 9 is its "
               "position, 29 goes on in one piece from block 5, and 7 adds block and offset."),
    Recall("04-last-block",
           "A conversation of 100 tokens lies in blocks of 16. Where is the memory that it has and does not use?",
           choices={"a": "In its last block: 12 slots.",
                    "b": "In the holes between its blocks.",
                    "c": "Nowhere: it has 100 slots for 100 tokens.",
                    "d": "In every block: none is quite full."},
           answer="a",
           why="It has 7 blocks, so 112 slots, and all but the last are full. Between its blocks lie other "
               "conversations' blocks, and free ones that anybody can take."),
    Recall("04-kv-heads", "A model has 32 query heads and 8 KV heads. What does one layer keep of a token?",
           choices={"a": "32 keys and 32 values.",
                    "b": "32 queries, 8 keys and 8 values.",
                    "c": "8 keys and 8 values.",
                    "d": "8 keys and 32 values."},
           answer="c",
           why="Only KV heads have keys and values, and four query heads share each pair. Queries are used once and "
               "thrown away."),
    Recall("04-bug-hunt", "Who wrote 9.0 over the customer's first token?",
           choices={"a": "The token for slot 5, because slots are counted from 1.",
                    "b": "The row of padding: clamp makes slot 0 of -1, and slot 0 belongs to somebody.",
                    "c": "The customer: a block of 4 had no room for the fifth token."},
           answer="b",
           why="Slot -1 means that nothing is to be written. Any slot that stands in for it, the last or the first, is "
               "somebody's. Rows of padding have to be left out."),
]

SAY_IT: list[SayIt] = [
    SayIt("04", "Does paging change the outputs? What happens when a token is written, when it is read, and how does a "
                "kernel walk over the blocks?",
          rubric=(Point("no: the outputs are the same, token by token",
                        ("no.", "no,", "no:", "unchanged", "the same", "identical", "does not change",
                         "doesn't change")),
                  Point("only the place of keys and values is another", ("only the place", "place of", "where keys")),
                  Point("new keys and values are written to the slots that the block table gives",
                        ("slot", "written", "writes")),
                  Point("attention reads them through the table, in the order of the tokens",
                        ("through the table", "through its table", "block table", "gather", "in order")),
                  Point("and stops at the context length: what lies behind never matters",
                        ("length", "beyond", "behind", "stops")),
                  Point("a kernel does it block by block, with a running largest score and sum",
                        ("online", "block by block", "running", "largest"))),
          model="No, the outputs are the same: only the place of keys and values has changed. (Sums in another order "
                "round differently, with paging as without.) Each new token's key and value are written to the slot "
                "that the block table gives. Attention reads the conversation through the table, in order, and stops "
                "at the context length, because behind it lies somebody else's past. It need not gather anything "
                "first: with the largest score so far and a running sum it goes block by block.",
          seconds=30),
]

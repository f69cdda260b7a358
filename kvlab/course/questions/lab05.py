"""What lab 05 asks: its recall questions, and what to say aloud at its end."""

from __future__ import annotations

from kvlab.course.questions.form import Point, Recall, SayIt

RECALL: list[Recall] = [
    Recall("05-bound", "What decides how long a decode step of a large model takes?",
           choices={"a": "The bytes it reads: all weights once, and every cached key and value.",
                    "b": "The multiplications: each token is multiplied with all weights.",
                    "c": "The number of blocks in the pool."},
           answer="a",
           why="One token a conversation is little to compute with, and everything must come from memory first: "
               "weights "
               "once for the whole batch, and each conversation's cache."),
    Recall("05-entries",
           "Blocks of 16 tokens. A conversation has 20 tokens, and its row of the block tables is [7, 2, 9, 0]. "
           "Which entries may be looked at?",
           choices={"a": "All four: the row has four entries.",
                    "b": "7 and 2: 20 tokens lie in two blocks.",
                    "c": "7, 2 and 9: 0 is the padding."},
           answer="b",
           why="20 tokens need 2 blocks. What stands behind them was left there by somebody else or never written, "
               "and 0 "
               "is an ordinary block id, not a mark for an end."),
    Recall("05-shrink",
           "An online softmax has met scores up to 2, and the next block brings a 5. What happens to the sum so far?",
           choices={"a": "Nothing: it is a sum of what came before.",
                    "b": "It is multiplied by exp(5 - 2), so that it grows with the new scores.",
                    "c": "It is multiplied by exp(2 - 5), and so is the output so far."},
           answer="c",
           why="The sum is of exp(score - 2). Relative to the new largest score it is of exp(score - 5), so each "
               "term is "
               "smaller by exp(2 - 5), and the same holds for the weighted values."),
    Recall("05-bug-hunt", "Why do the weights of two tokens not add up to 1?",
           choices={"a": "The store is masked, so some weights are lost on their way to memory.",
                    "b": "The largest score is taken over the whole tile, which it must not be.",
                    "c": "Masked lanes get the score 0, and exp of it is counted in the sum."},
           answer="c",
           why="The mask keeps a lane from reading, and `other` is what it gets in place of a number. A score of 0 "
               "is a "
               "score like any other; -inf is the one whose exp is 0."),
]

SAY_IT: list[SayIt] = [
    SayIt("05", "What does a decode kernel do, what bounds its time, and what must it never read?",
          rubric=(Point("a program takes a sequence and a head, and walks over its pages through the table",
                        ("page", "through the table", "block table", "walk")),
                  Point("with an online softmax: a largest score, a sum and an output that are rescaled",
                        ("online", "running", "rescale", "largest")),
                  Point("query heads of one KV head share each read, as rows of one product",
                        ("rows", "group", "share", "one product")),
                  Point("its time is bound by the bytes it reads: bytes over bandwidth",
                        ("bandwidth", "bytes", "memory-bound", "bound by memory")),
                  Point("a long context is split over programs and merged by log-sum-exp",
                        ("split", "merge", "log-sum-exp", "parts")),
                  Point("it never reads behind the length, nor the padding of the table: masks",
                        ("mask", "behind the length", "beyond", "padding"))),
          model="One program takes a sequence and a KV head and walks over the pages: a block id from the table, a "
                "tile of "
                "keys, a tile of values, and an online softmax that is rescaled when a larger score comes. The "
                "query heads "
                "of that KV head are rows of one product, so each key is read once. Its time is bytes over "
                "bandwidth. A "
                "long context is split over several programs, and merged by log-sum-exp. A mask keeps it from "
                "everything "
                "behind the length.",
          seconds=30),
]

"""What lab 09 asks: its recall questions, and what to say aloud at its end."""

from __future__ import annotations

from kvlab.course.questions.form import Point, Recall, SayIt

RECALL: list[Recall] = [
    Recall("09-paging", "What does paging do to the bytes that one token takes?",
           choices={"a": "It halves them.",
                    "b": "Nothing. It removes the waste around the tokens.",
                    "c": "It adds the block table's entry, so they grow by a quarter."},
           answer="b",
           why="A token costs the same in a block as in one piece. What makes the token itself smaller is this lab's "
               "subject. An entry of the table is 4 bytes for a block of 16 tokens: nothing beside 2 MiB."),
    Recall("09-online", "Attention walks over the blocks and has the sum of exp(score - largest) so far. The next "
                        "block brings a larger score. What now?",
           choices={"a": "Begin anew with the new largest.",
                    "b": "Leave the sum as it is, and use the new largest from here on.",
                    "c": "Multiply what was summed by exp(old largest - new largest), and go on."},
           answer="c",
           why="Every term so far was divided by exp(old largest) and has to be divided by exp(new largest): the same "
               "factor for all of them, so it can be applied to the sum. This lab takes other factors out of sums."),
    Recall("09-first", "Who is never preempted while others run?",
           choices={"a": "The first in order.",
                    "b": "The request with the most blocks.",
                    "c": "The most recent."},
           answer="a",
           why="If the first in order never leaves, it is sure to end, and then the next is the first (I11)."),
    Recall("09-bug-hunt", "Why did no test of the colleague's see it?",
           choices={"a": "Its scales were both 1, or equal: then swapping them changes nothing.",
                    "b": "FP8 is too coarse for a test to see anything.",
                    "c": "It used prompts that are too short."},
           answer="a",
           why="Where both scales are equal, key_scale and value_scale can stand for each other. A test that can see "
               "the fault needs two scales that differ from each other.",
           reasons={"b": "The outputs are off by a factor, not by a rounding error.",
                    "c": "A single token shows it, as the figures above do."}),
]

SAY_IT: list[SayIt] = [
    SayIt("09", "What makes the KV cache itself smaller, what does each way cost, and what has paging to do with it?",
          rubric=(Point("paging does not: it removes the waste around the tokens",
                        ("paging does not", "paging doesn't", "waste around", "not paging", "waste")),
                  Point("8 bits for 16: half the bytes, twice the tokens", ("fp8", "8 bits", "half the bytes")),
                  Point("a scale brings numbers into its range, and is folded in, once", ("scale",)),
                  Point("at a small cost in quality, which is measured",
                        ("quality", "perplexity", "measure", "accuracy", "precision")),
                  Point("fewer KV heads, or one latent for all heads", ("latent", "mla", "kv heads", "gqa")),
                  Point("windows: blocks behind the window go back to the pool", ("window",))),
          model="Paging does not make a token smaller, it removes the waste around the tokens. Eight bits in place of "
                "sixteen halve every key and value, so twice the tokens fit; a scale brings the numbers into FP8's "
                "range and is folded in once, outside the sums, and perplexity says what it cost. Fewer KV heads, or "
                "one latent a layer for all heads, are decided when the model is trained. With a sliding window, "
                "blocks that nobody sees any more go back to the pool.",
          seconds=40),
]

"""What lab 02 asks: its recall questions, and what to say aloud at its end."""

from __future__ import annotations

from kvlab.course.questions.form import Point, Recall, SayIt

RECALL: list[Recall] = [
    Recall("02-per-token",
           "32 layers, 32 query heads, 8 KV heads, 128 numbers a head, 2 bytes each: what does one token cost?",
           choices={"a": "64 KiB", "b": "128 KiB", "c": "512 KiB", "d": "4 KiB"},
           answer="b",
           why="2 (key and value) x 32 layers x 8 KV heads x 128 x 2 bytes. 64 KiB leaves out the values, 512 KiB "
               "counts query heads, which keep nothing, and 4 KiB is one layer."),
    Recall("02-batch", "Why do 64 conversations together get many more tokens per second out of a GPU than one alone?",
           choices={"a": "Each step reads the weights once for all of them.",
                    "b": "They share their keys and values.",
                    "c": "A step takes the same time, however many conversations take part."},
           answer="a",
           why="Reading the weights is most of a small batch's step, and company shares it. Keys and values are each "
               "conversation's own, so a step does get longer with every one, only by much less."),
    Recall("02-smaller", "Which of these makes the keys and values of a token take fewer bytes?",
           choices={"a": "Handing out the memory in blocks of 16 tokens.",
                    "b": "Storing the weights in 4 bits.",
                    "c": "A model with 4 KV heads in place of 8.",
                    "d": "Half as many conversations at once."},
           answer="c",
           why="Half the KV heads, half the vectors. Blocks remove the waste around tokens and leave their price as it "
               "is; smaller weights and fewer conversations leave more room, and a token costs what it did."),
]

SAY_IT: list[SayIt] = [
    SayIt("02", "Why did early LLM servers waste most of their KV memory?",
          rubric=(Point("an answer's length is unknown when it starts",
                        ("unknown", "not know", "nobody knows", "no one knows", "in advance", "without knowing",
                         "don't know", "can't know", "cannot tell", "can't tell", "not tell", "beforehand",
                         "unpredictable", "how long")),
                  Point("so they reserved one contiguous piece for the longest",
                        ("contiguous", "one piece", "longest", "maximum", "worst case", "as long as it may", "max ")),
                  Point("slots for tokens still to come stand empty meanwhile",
                        ("later", "still to come", "to come", "not yet", "meanwhile", "in the future", "will be used")),
                  Point("what was over-estimated is never used: internal fragmentation",
                        ("internal", "over-estimat", "overestimat", "never used", "never be used", "too much")),
                  Point("holes between pieces are too small for newcomers: external fragmentation",
                        ("external", "holes", "between pieces", "gaps", "too small")),
                  Point("20 to 38 % of the memory held tokens", ("20", "38", "most of", "15.5"))),
          model="Attention wanted each request's keys and values in one piece, and nobody knows an answer's length "
                "when it starts. So servers reserved for the longest. Slots for later tokens stood empty meanwhile; "
                "what was over-estimated was never used, internal fragmentation; and between pieces of different "
                "sizes lay holes too small for a newcomer, external fragmentation. In Kwon et al.'s measurements 20 % "
                "of the memory held tokens, and 38 % even with every length known.",
          seconds=30),
]

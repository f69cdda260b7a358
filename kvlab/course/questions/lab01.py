"""What lab 01 asks: its recall questions, and what to say aloud at its end."""

from __future__ import annotations

from kvlab.course.questions.form import Point, Recall, SayIt

RECALL: list[Recall] = [
    Recall("01-why-kv",
           "While a model writes an answer, why does the server keep the keys and values of all tokens so far?",
           choices={"a": "They are part of the weights, which every step needs.",
                    "b": "The next token has to look back at every token before it.",
                    "c": "The same question can then be answered again without the model."},
           answer="b",
           why="Attention compares the newest token with all earlier ones, through their keys and values. Weights are "
               "another part of the memory, and a store of finished answers is another kind of cache."),
    Recall("01-what-grows", "Which part of the GPU's memory has to hold more with every token that is read or written?",
           choices={"a": "The weights.",
                    "b": "The text of the conversation.",
                    "c": "The KV cache.",
                    "d": "None: all of it is reserved when the server starts."},
           answer="c",
           why="Each token adds a key and a value in every layer. The weights stay as they are, the text is a few "
               "bytes a word, and reserving a slot does not fill it: that was the trouble on Friday evening."),
    Recall("01-mode", "You take the course on a laptop without a GPU. What is different?",
           choices={"a": "Only real timings are missing: kernels run in an interpreter, and every exercise is checked.",
                    "b": "Exercises can be written but not checked.",
                    "c": "Only labs 00 to 03 work, since they are plain Python."},
           answer="a",
           why="The first four labs need no kernel at all, and the later ones run theirs in an interpreter: slower, "
               "with the same checks. The first cell of each lab says which way it runs."),
]

SAY_IT: list[SayIt] = [
    SayIt("01", "Why does the batch size decide the throughput, and what bounds the batch size?",
          rubric=(Point("a decode step spends its time reading memory",
                        ("read", "bandwidth", "memory-bound", "memory bound", "loads", "loading")),
                  Point("it reads all weights once, whatever the batch",
                        ("weights once", "weight once", "all weights", "the weights", "weights are")),
                  Point("so conversations share that read, and throughput grows with the batch",
                        ("share", "throughput grows", "more tokens", "same read", "together", "amorti", "split",
                         "divided")),
                  Point("each conversation adds its own keys and values to what is read",
                        ("its own key", "own kv", "own keys", "adds", "own cache", "each needs its", "each has its")),
                  Point("the memory left for the KV cache bounds the batch",
                        ("fit in memory", "fits in memory", "memory beside", "left for", "must fit", "has to fit",
                         "have to fit", "bounded by", "bounds the batch", "kv memory", "memory is", "gpu memory",
                         "limit is", "limited by", "memory left", "runs out", "memory limit")),
                  Point("a number: 128 KiB a token, 64 GiB, about 524,000 tokens", ("128", "64 gib", "524"))),
          model="Decoding spends its time reading memory. Each step reads all weights once, for one conversation or "
                "for sixty-four, so a larger batch writes more tokens for the same read; the gain flattens once the "
                "conversations' own keys and values are most of what is read. What bounds the batch is the memory "
                "beside the weights: at 128 KiB a token, 64 GiB hold about 524,000 tokens, and every conversation "
                "needs room for its own.",
          seconds=30),
]

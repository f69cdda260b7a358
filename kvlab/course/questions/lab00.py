"""What lab 00 asks: its recall questions, and what to say aloud at its end."""

from __future__ import annotations

from kvlab.course.questions.form import Point, Recall, SayIt

RECALL: list[Recall] = []

SAY_IT: list[SayIt] = [
    SayIt("00", "What is this course about? Two sentences, as to a colleague in the lift.",
          rubric=(Point("the server reserves memory for the longest answer",
                        ("reserv", "set aside", "sets aside", "longest", "allocat", "maximum", "worst case")),
                  Point("because nobody knows how long an answer will be",
                        ("unknown", "not know", "nobody knows", "no one knows", "in advance", "without knowing",
                         "don't know", "can't know", "cannot tell", "can't tell", "not tell", "beforehand",
                         "unpredictable", "how long")),
                  Point("most of that memory never holds a token",
                        ("empty", "waste", "wasting", "never hold", "unused", "never used", "15 %", "15%", "15.5")),
                  Point("small blocks are handed out on demand instead", ("block", "on demand", "paged", "paging")),
                  Point("so far more conversations run at the same time",
                        ("more conversations", "more requests", "more customers", "at once", "same time", "411",
                         "times as many"))),
          model="Nobody knows how long an answer will be, so a server reserves memory for the longest one, and most "
                "of it never holds a token: 64 conversations fill the card while 15 % of the memory is in use. This "
                "course builds the way out, small blocks handed out on demand through a table, with which 411 "
                "conversations run at the same time, and then the server around it.",
          seconds=30),
]

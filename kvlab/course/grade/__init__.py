"""Grades: a learner's exercises, run in a process of their own and compared outside it. `kvlab grade` is the command.

A verdict in a notebook is feedback: the check runs beside the learner's code, which could reach it. Here the learner's
process holds his source, the arguments of a call, and nothing of the course: no checks, no finished parts, no file of
either. Calls and results travel as plain data (`wire`), and the checks of `kvlab.course.exercises` run on this side
(`referee`), against a stand-in (`remote`) that asks over there (`connection`). `locks` says what that process may not
do; `cells` what it is given.
"""

from kvlab.course.grade.grader import Grade, Learner, grade

__all__ = ["Grade", "Learner", "grade"]

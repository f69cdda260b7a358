"""Arenas that do not join a freed piece with both of its neighbours, or not in order."""

from __future__ import annotations

from kvlab.course.exercises.lab02_arena_plain import Plain


class NeverJoins(Plain):
    def give_back(self, start, size):
        self.holes = sorted([*self.holes, (start, size)])


class JoinsRightOnly(Plain):
    def give_back(self, start, size):
        for hole in self.holes:
            if hole[0] == start + size:
                self.holes.remove(hole)
                size += hole[1]
                break
        self.holes = sorted([*self.holes, (start, size)])


class JoinsLeftOnly(Plain):
    def give_back(self, start, size):
        for hole in self.holes:
            if sum(hole) == start:
                self.holes.remove(hole)
                start, size = hole[0], hole[1] + size
                break
        self.holes = sorted([*self.holes, (start, size)])


class JoinsOneSide(Plain):
    def give_back(self, start, size):
        for i, (other, length) in enumerate(self.holes):
            if other + length == start:
                self.holes[i] = (other, length + size)
                return
            if start + size == other:
                self.holes[i] = (start, size + length)
                return
        self.holes = sorted([*self.holes, (start, size)])


class JoinsRightOrLeft(Plain):
    def give_back(self, start, size):
        for other, length in self.holes:
            if other == start + size:
                self.holes.remove((other, length))
                self.holes = sorted([*self.holes, (start, size + length)])
                return
        for i, (other, length) in enumerate(self.holes):
            if other + length == start:
                self.holes[i] = (other, length + size)
                return
        self.holes = sorted([*self.holes, (start, size)])


class HolesInOrderOfFreeing(Plain):
    def give_back(self, start, size):
        for hole in list(self.holes):
            if sum(hole) == start:
                self.holes.remove(hole)
                start, size = hole[0], hole[1] + size
            elif start + size == hole[0]:
                self.holes.remove(hole)
                size += hole[1]
        self.holes.append((start, size))


class DeletesWhileWalking(Plain):
    def give_back(self, start, size):
        self.holes = sorted([*self.holes, (start, size)])
        for i in range(len(self.holes) - 1):
            (left, length), (right, more) = self.holes[i], self.holes[i + 1]
            if left + length == right:
                self.holes[i : i + 2] = [(left, length + more)]

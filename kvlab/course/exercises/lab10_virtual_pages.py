"""Virtual caches as beginners write them, where pages are counted."""

from __future__ import annotations

from kvlab.course.exercises.lab10_virtual_plain import Plain


class RangesTogether(Plain):
    def needed(self, num_tokens):
        return [-(-num_tokens * sum(self.token_bytes) // self.page_bytes)]


class FirstRangeOnly(Plain):
    def needed(self, num_tokens):
        return [-(-num_tokens * self.token_bytes[0] // self.page_bytes)]


class FirstRangeTimes(Plain):
    def needed(self, num_tokens):
        return [-(-num_tokens * self.token_bytes[0] // self.page_bytes)] * len(self.token_bytes)


class RoundsDown(Plain):
    def needed(self, num_tokens):
        return [num_tokens * width // self.page_bytes for width in self.token_bytes]


class OneMore(Plain):
    def needed(self, num_tokens):
        return [num_tokens * width // self.page_bytes + 1 for width in self.token_bytes]


class OneMoreFromTheStart(OneMore):
    def reserve(self, request, max_tokens):
        super().reserve(request, max_tokens)
        self.grow(request, 0)


class WholeTokens(Plain):
    def needed(self, num_tokens):
        return [-(-num_tokens // max(1, self.page_bytes // width)) for width in self.token_bytes]


class TokensForBytes(Plain):
    def needed(self, num_tokens):
        return [-(-num_tokens // self.page_bytes) for _ in self.token_bytes]

"""Virtual caches as beginners write them, each the plain one with one thing done wrong: when pages are mapped."""

from __future__ import annotations

from kvlab.course.exercises.lab10_virtual_plain import Plain
from kvlab.errors import OutOfPages, UsageError


class MapsAtReserve(Plain):
    def reserve(self, request, max_tokens):
        super().reserve(request, max_tokens)
        self.grow(request, max_tokens)


class MapsAtReserveUnseen(Plain):
    def reserve(self, request, max_tokens):
        super().reserve(request, max_tokens)
        self.pages[request] = self.needed(max_tokens)
        self.num_free -= sum(self.pages[request])


class PromisesAtReserve(Plain):
    def reserve(self, request, max_tokens):
        super().reserve(request, max_tokens)
        if sum(self.needed(max_tokens)) > self.num_free:
            raise OutOfPages(sum(self.needed(max_tokens)), self.num_free)


class TokensAreAdded(Plain):
    def grow(self, request, num_tokens):
        self.tokens = {request: 0} | getattr(self, "tokens", {})
        self.tokens[request] += num_tokens
        return super().grow(request, self.tokens[request])

    def look(self, request, num_tokens):
        pass


class TokensSumUp(Plain):
    def __init__(self, num_pages, page_bytes, token_bytes):
        super().__init__(num_pages, page_bytes, token_bytes)
        self.num_pages, self.tokens = num_pages, {}

    def reserve(self, request, max_tokens):
        super().reserve(request, max_tokens)
        self.tokens[request] = 0

    def grow(self, request, num_tokens):
        more = super().grow(request, num_tokens)
        self.tokens[request] += num_tokens
        self.pages[request] = self.needed(self.tokens[request])
        self.num_free = self.num_pages - sum(map(sum, self.pages.values()))
        return more


class RefusesAfter(Plain):
    def grow(self, request, num_tokens):
        self.look(request, num_tokens)
        more = self.missing(request, num_tokens)
        self.pages[request], self.num_free = self.needed(num_tokens), self.num_free - more
        if self.num_free < 0:
            raise OutOfPages(more, self.num_free)
        return more


class AllAnew(Plain):
    def missing(self, request, num_tokens):
        return sum(self.needed(num_tokens))


class ReturnsTotal(Plain):
    def grow(self, request, num_tokens):
        super().grow(request, num_tokens)
        return sum(self.pages[request])


class ReturnsNothing(Plain):
    def grow(self, request, num_tokens):
        super().grow(request, num_tokens)


class RangeByRange(Plain):
    def grow(self, request, num_tokens):
        self.look(request, num_tokens)
        before, needed, mapped = list(self.pages[request]), self.needed(num_tokens), 0
        more = sum(needed) - sum(before)
        for i, (have, need) in enumerate(zip(before, needed, strict=True)):
            if need - have > self.num_free:
                raise OutOfPages(more, self.num_free + mapped)
            self.num_free -= need - have
            self.pages[request][i] = need
            mapped += need - have
        return mapped


class SaysAll(Plain):
    def refuse(self, request, num_tokens, more):
        raise OutOfPages(sum(self.needed(num_tokens)), self.num_free)


class NumbersSwapped(Plain):
    def refuse(self, request, num_tokens, more):
        raise OutOfPages(self.num_free, more)


class NeverRefuses(Plain):
    def refuse(self, request, num_tokens, more):
        pass


class KeepsOneBack(Plain):
    def grow(self, request, num_tokens):
        self.look(request, num_tokens)
        more = self.missing(request, num_tokens)
        if more and more >= self.num_free:
            self.refuse(request, num_tokens, more)
        return super().grow(request, num_tokens)


class NoLimit(Plain):
    def look(self, request, num_tokens):
        pass


class LimitIsForbidden(Plain):
    def look(self, request, num_tokens):
        if num_tokens >= self.most[request]:
            raise UsageError("too many tokens")


class LimitIsPages(Plain):
    def look(self, request, num_tokens):
        if num_tokens > self.most[request]:
            raise OutOfPages(self.missing(request, num_tokens), self.num_free)


class ReservesTwice(Plain):
    def reserve(self, request, max_tokens):
        self.most[request] = max_tokens
        self.pages[request] = [0] * len(self.token_bytes)


class NeverGivesBack(Plain):
    def free(self, request):
        del self.most[request]
        return sum(self.pages.pop(request))


class FreesOneRange(Plain):
    def free(self, request):
        del self.most[request]
        given = self.pages.pop(request)[0]
        self.num_free += given
        return given


class FreeReturnsNothing(Plain):
    def free(self, request):
        super().free(request)


class KeepsTheName(Plain):
    def free(self, request):
        given = sum(self.pages[request])
        self.pages[request] = [0] * len(self.token_bytes)
        self.num_free += given
        return given

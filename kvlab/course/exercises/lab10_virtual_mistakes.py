"""Virtual caches as beginners write them: one plain cache with a single thing done wrong."""

from __future__ import annotations

from kvlab.errors import OutOfPages, UsageError


class Plain:
    """A right cache: `most` has each request's addresses, `pages` what is mapped in each of its ranges."""

    def __init__(self, num_pages, page_bytes, token_bytes):
        self.num_free, self.page_bytes, self.token_bytes = num_pages, page_bytes, token_bytes
        self.most, self.pages = {}, {}

    def needed(self, num_tokens):
        return [-(-num_tokens * width // self.page_bytes) for width in self.token_bytes]

    def reserve(self, request, max_tokens):
        if request in self.most:
            raise UsageError("it has addresses already")
        self.most[request] = max_tokens
        self.pages[request] = [0] * len(self.token_bytes)

    def look(self, request, num_tokens):
        if num_tokens > self.most[request]:
            raise UsageError("too many tokens")

    def missing(self, request, num_tokens):
        return sum(self.needed(num_tokens)) - sum(self.pages[request])

    def refuse(self, request, num_tokens, more):
        raise OutOfPages(more, self.num_free)

    def grow(self, request, num_tokens):
        self.look(request, num_tokens)
        more = self.missing(request, num_tokens)
        if more > self.num_free:
            self.refuse(request, num_tokens, more)
        self.pages[request] = self.needed(num_tokens)
        self.num_free -= more
        return more

    def free(self, request):
        del self.most[request]
        given = sum(self.pages.pop(request))
        self.num_free += given
        return given


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

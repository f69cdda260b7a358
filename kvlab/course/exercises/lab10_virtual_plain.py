"""The virtual cache that the known mistakes start from: a right one, in small steps that a mistake may replace."""

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

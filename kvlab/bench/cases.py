"""One case of a benchmark: its sizes, and the bytes and operations that follow from them."""

from __future__ import annotations

from dataclasses import dataclass

from kvlab.errors import UsageError

SIZES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp8": 1}  # bytes of a number in the pools; fp8 is e4m3
KINDS = ("decode", "prefill", "write")
LARGEST_COPY = 2**31  # bytes that the copy beside a case moves at most: more does not make it faster


@dataclass(frozen=True)
class Case:
    """`batch` sequences of `context` tokens each, of which the last `queries` are new.

    kind: "decode" (one new token a sequence attends to its context), "prefill" (`queries` of them do) or "write" (the
    keys and values of `queries` new tokens a sequence go to their slots). dtype: of the pools, one of `SIZES`.
    source_dtype: of queries and new tokens, the same or, beside "fp8", any other (default bf16). Keys and values have
    the same `head_dim`. Sizes below 1, more new tokens than context, heads that `kv_heads` does not divide and types
    that do not go together are refused with `UsageError`.
    """

    kind: str
    batch: int
    context: int
    queries: int = 1
    block_size: int = 16
    heads: int = 32
    kv_heads: int = 8
    head_dim: int = 128
    dtype: str = "bf16"
    source_dtype: str = ""

    def __post_init__(self) -> None:
        sizes = (self.batch, self.context, self.queries, self.block_size, self.heads, self.kv_heads, self.head_dim)
        if any(type(size) is not int or size < 1 for size in sizes):
            raise UsageError(f"the sizes of a case are whole numbers from 1, not {sizes}")
        if not self.source_dtype:
            object.__setattr__(self, "source_dtype", "bf16" if self.dtype == "fp8" else self.dtype)
        known = self.kind in KINDS and self.dtype in SIZES and self.source_dtype in SIZES
        if not known or self.source_dtype == "fp8" or self.dtype not in ("fp8", self.source_dtype):
            names = f"{', '.join(KINDS)} and {', '.join(SIZES)}"
            asked = f'"{self.kind}" of "{self.dtype}" with queries of "{self.source_dtype}"'
            raise UsageError(f"there are {names}; pools have the type of the queries or fp8: no {asked}")
        if self.queries > self.context or self.heads % self.kv_heads:
            raise UsageError(
                f"{self.queries} new tokens of {self.context}, {self.heads} heads on {self.kv_heads}: new tokens are "
                "part of the context, and KV heads divide the heads"
            )
        if self.kind == "decode" and self.queries != 1:
            raise UsageError(f"a decode step has 1 new token a sequence, not {self.queries}")

    @property
    def group(self) -> int:
        """Query heads that share a KV head."""
        return self.heads // self.kv_heads

    @property
    def tokens(self) -> int:
        """New tokens, all sequences together."""
        return self.batch * self.queries

    @property
    def blocks(self) -> int:
        """Blocks that one sequence takes."""
        return -(-self.context // self.block_size)

    @property
    def token_bytes(self) -> int:
        """Bytes that one token's keys and values take in the pools, one layer."""
        return 2 * self.kv_heads * self.head_dim * SIZES[self.dtype]

    @property
    def bytes(self) -> int:
        """KV bytes that have to be moved, and nothing else: no query, output, table or slot counts.

        decode, prefill: each token of each context is read once. write: each new token is read in the type it comes
        in, and written in the pool's, as a device copy reads and writes.
        """
        if self.kind == "write":
            come = 2 * self.kv_heads * self.head_dim * SIZES[self.source_dtype]
            return self.tokens * (come + self.token_bytes)
        return self.batch * self.context * self.token_bytes

    @property
    def seen(self) -> int:
        """Pairs of a query and a token that it sees, of one head: the causal mask taken off."""
        before = self.context - self.queries
        return self.batch * (self.queries * before + self.queries * (self.queries + 1) // 2)

    @property
    def operations(self) -> int:
        """Floating-point operations of the two products of attention, 0 for a write."""
        return 0 if self.kind == "write" else 4 * self.heads * self.head_dim * self.seen

    @property
    def room(self) -> int:
        """Bytes of GPU memory that a run of this case takes: contiguous keys and values, the pools, queries and
        outputs, a copy of as many bytes, and four times one sequence to fill the pools with."""
        source = self.batch * self.context * 2 * self.kv_heads * self.head_dim * SIZES[self.source_dtype]
        pools = self.batch * self.blocks * self.block_size * self.token_bytes
        queries = 2 * self.tokens * self.heads * self.head_dim * SIZES[self.source_dtype]
        return source + pools + queries + min(self.bytes, LARGEST_COPY) + 4 * source // self.batch

    @property
    def name(self) -> str:
        """The case in words."""
        shape = f"{self.heads}:{self.kv_heads} heads of {self.head_dim}, {self.dtype}, blocks of {self.block_size}"
        if self.kind == "write":
            return f"write of {self.tokens:,} tokens, {shape}"
        new = f"{self.queries:,} new of " if self.kind == "prefill" else ""
        return f"{self.kind} of {self.batch:,} x {new}{self.context:,} tokens, {shape}"

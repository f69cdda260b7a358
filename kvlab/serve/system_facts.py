"""What other systems do with KV memory, as their documentation and code say, each with the version that was read.

A project moves on: a fact holds for the version named. A commit is one that could be read, not the newest, and perhaps
of a branch; of transformers the installed package was read, of pages what they said then. Where something was looked
for and not found, the text says "not verified".
"""

from __future__ import annotations

from dataclasses import dataclass, fields

GITHUB = "https://github.com"


@dataclass(frozen=True)
class Source:
    """address: of a page, or of a file in a repository. version: the release or commit that was read."""

    address: str
    version: str


@dataclass(frozen=True)
class Facts:
    """One system's answers. unit: what is handed out. free_list: how what is free is kept. sharing: how a prefix is
    found. eviction: what a cached prefix gives way to, in which order. preemption: what happens when memory runs out.
    tiers: where else blocks can lie."""

    unit: str
    free_list: str
    sharing: str
    eviction: str
    preemption: str
    tiers: str

    def rows(self) -> list[tuple[str, str]]:
        """`(question, answer)`, in the order of the table."""
        return [(field.name.replace("_", " "), getattr(self, field.name)) for field in fields(self)]


def _files(repository: str, *files: tuple[str, str]) -> tuple[Source, ...]:
    """Files of a repository, each as (path, commit)."""
    return tuple(
        Source(f"{GITHUB}/{repository}/blob/{commit}/{path}", f"commit {commit[:10]}") for path, commit in files
    )


VLLM = Facts(
    unit="a block of a fixed number of tokens; only full blocks are cached",
    free_list="a doubly linked queue through the blocks themselves; a request's blocks join its end, the last first",
    sharing="a hash of (hash of the block before, own tokens, adapter, salt); tables only grow, so duplicates stay",
    eviction="the head of the free queue, least recently used, loses its hash when it is taken",
    preemption="the request that came last, or has the lowest priority, gives all back and is computed again",
    tiers="none of its own in the files read; connectors hand blocks to others, such as LMCache",
)
VLLM_SOURCES = (
    *_files(
        "vllm-project/vllm",
        ("docs/design/prefix_caching.md", "01ff8bff98541914fbc22970a92359b1602988c7"),
        ("vllm/v1/core/sched/scheduler.py", "00024d314514900f361ad072af6931e403b7f589"),
    ),
    Source("https://docs.vllm.ai/en/v0.17.1/configuration/optimization/", "0.17.1"),
)
SGLANG = Facts(
    unit="a page, of one token by default (--page-size 1)",
    free_list="the slots that the allocator has free; the tree holds the others (the allocator's order: not verified)",
    sharing="a radix tree over tokens, adapters and salts apart; filled after a prompt and at a request's end",
    eviction="leaves that no request locks, least recently used first (--radix-eviction-policy lru)",
    preemption="whoever has generated least is retracted, of equals the longest prompt; it is computed again",
    tiers="HiCache: host memory as second level, a storage backend as third; off by default",
)
SGLANG_SOURCES = (
    *_files(
        "sgl-project/sglang",
        ("python/sglang/srt/mem_cache/radix_cache.py", "006b0e3d317f1cd4a7300e919a4eaa878b1947e7"),
        ("python/sglang/srt/managers/schedule_batch.py", "fd3907ee4618e96b73ee94d9a836db78efb5d046"),
        ("python/sglang/srt/managers/schedule_policy.py", "ad0119fdde519598c25f5c48b95dacaa2b85d607"),
        ("docs/advanced_features/server_arguments.md", "004813e1dd464844bd92ddbca5cab8c024a75f78"),
    ),
    Source("https://docs.sglang.io/advanced_features/hicache_design.html", "undated page, read in November 2026"),
)
TENSORRT = Facts(
    unit="a block of a power of two of tokens (above 1), for all layers of one window and head count",
    free_list="a queue for each priority from 0 to 100, in each of two levels: device and host",
    sharing="a radix tree of blocks; of a block that fits in part, the matched tokens are copied into a new one",
    eviction="the lowest priority first (35 unless the request says otherwise), LRU among equals, leaves only",
    preemption="none by default (GUARANTEED_NO_EVICT); MAX_UTILIZATION admits more and pauses requests",
    tiers="host memory (host_cache_size, 0 by default) for blocks of a high enough priority; a disk tier below it",
)
TENSORRT_SOURCES = (
    *_files(
        "NVIDIA/TensorRT-LLM",
        ("docs/source/features/kvcache.md", "0076e9390e1ed11515f149eec356f5a03f4a00d8"),
        ("cpp/tensorrt_llm/batch_manager/evictionPolicy.cpp", "05a919198033f5c5d70680da46bb4fe431b7c27e"),
    ),
    Source("https://nvidia.github.io/TensorRT-LLM/1.4.0rc4/llm-api/reference/SchedulerConfig.html", "1.4.0rc4"),
    Source("https://nvidia.github.io/TensorRT-LLM/1.4.0rc4/llm-api/reference/KvCacheConfig.html", "1.4.0rc4"),
    Source(
        "https://nvidia.github.io/TensorRT-LLM/performance/performance-tuning-guide/useful-runtime-flags.html",
        "undated page, read in November 2026",
    ),
)
TGI = Facts(
    unit="a block; with prefix caching one token (the radix allocator refuses any other size)",
    free_list="a stack of block numbers; block 0 is kept for health checks",
    sharing="a radix trie over prompt tokens, filled when a request ends; what it has generated is not kept",
    eviction="leaves without a holder, least recently used first, as much of a leaf as is needed",
    preemption="none: prompt + max_new_tokens - 1 (and speculation) are taken at admission; else the queue waits",
    tiers="none in the files read",
)
TGI_SOURCES = (
    *_files(
        "huggingface/text-generation-inference",
        ("backends/v3/src/radix.rs", "e4dfa52c38ba01340ed7067d52e472d0a4c79a67"),
        ("backends/v3/src/queue.rs", "b3760df25f5070d2eb5ea4b5e33d0a163069ca0b"),
        ("backends/v3/src/block_allocator.rs", "136bcc812870e36aea69c3bb9cb8012f0a63d973"),
    ),
)
LMCACHE = Facts(
    unit="a chunk of 256 tokens by default, outside the engine's own blocks",
    free_list="bytes: as much host memory as max_local_cpu_size says (5.0 by default)",
    sharing="a hash of (hash of the chunk before, own tokens); only full chunks, and only of prompts, by default",
    eviction="cache_policy, LRU by default; the files beside it: LFU, FIFO, MRU and others",
    preemption="none: the engine above decides",
    tiers="host memory; a disk and a remote store where they are configured",
)
LMCACHE_SOURCES = (
    *_files(
        "LMCache/LMCache",
        ("lmcache/v1/config.py", "000620e37eb7e8e54bd6f0aa0809b7dbef8a11e8"),
        ("lmcache/v1/token_database.py", "00e744e01f313349c33d3436872e29068a46910d"),
        ("lmcache/v1/storage_backend/cache_policy/lru.py", "1a585d0e3c8a99bd8f6e16600b120143b666f003"),
    ),
)
VATTENTION = Facts(
    unit="a page of 2 MB in each layer's keys and in its values; 64, 128 or 256 KB with a driver of its own",
    free_list="physical pages, allocated ahead; a request's addresses are reserved once and stay contiguous",
    sharing="none between requests in serving (a function maps common pages into a batch, to show that it can)",
    eviction="nothing is cached; pages of requests that have ended are unmapped when others need them",
    preemption="none of its own: without a page for the next step it stops with an error",
    tiers="none in the files read",
)
VATTENTION_SOURCES = (
    *_files(
        "microsoft/vattention",
        ("README.md", "150f60c2ac7e1aed4382542b4104d349222ab0eb"),
        ("vattention/vattention.cu", "00b5ddce58af96e4bf79424b1cb4c3d2b0340ef5"),
    ),
    Source("https://arxiv.org/abs/2405.04437", "Prabhu et al. 2024"),
)
HUGGING_FACE = Facts(
    unit="a page of 256 tokens by default; a sector holds blocks of one kind of layer, full or sliding",
    free_list="free sectors, and in each that is in use a list of its free blocks",
    sharing="a hash of (hash of the block before, own tokens) if all layers are full; duplicates are given back",
    eviction="all that is cached at once, when fewer than 15 % of the blocks are free or somebody finds none",
    preemption="the newest of those who found no block begins again at the end of the queue, or is copied to the host",
    tiers="pinned host memory for requests that had to leave (cpu_offload_space, 0 by default)",
)
HUGGING_FACE_SOURCES = tuple(
    Source(f"{GITHUB}/huggingface/transformers/blob/v5.24.0/src/transformers/generation/{path}", "5.24.0")
    for path in (
        "continuous_batching/scheduler.py",
        "continuous_batching/cache.py",
        "continuous_batching/cache_allocators/cache_allocator.py",
        "continuous_batching/offloading_manager.py",
        "configuration_utils.py",
    )
)

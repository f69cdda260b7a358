"""One engine for several ranks: rank 0 decides with integers, and every rank carries it out on its own heads.

There is one scheduler, one block table for each request and one prefix index, all on rank 0. A step's integers go to
the others before it runs. Tokens are sampled on rank 0 alone: the others learn them with the next step, whose tokens
they are. So no message more is needed, and no two ranks can ever disagree about what was said.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from transformers import PreTrainedModel

from kvlab.compute import HostCache, Scales
from kvlab.compute.scales import scales_from
from kvlab.errors import UsageError
from kvlab.memory import BlockManager

from .batch import Batch, flatten
from .engine import Engine
from .hf import PagedModel
from .hf_shards import shards_of
from .link import Link, RankLost, Work
from .placement import Placement, Ran
from .plan import Plan

OPTIONS = {
    "max_running", "token_budget", "checked", "fill", "prefix", "order", "host_blocks", "watermark", "policies",
    "kv_dtype", "scales",
}  # fmt: skip


def refuse_unknown_options(options: Iterable[str]) -> None:
    """`UsageError` for an option of `Engine` that an engine over ranks does not take."""
    unknown = sorted(set(options) - OPTIONS)
    if unknown:
        raise UsageError(f"an engine over ranks takes {', '.join(sorted(OPTIONS))}, not {', '.join(unknown)}")


class _Pools(NamedTuple):
    """What every rank has of pools, so that the same block ids and slots mean the same on each."""

    num_blocks: int
    block_size: int
    host_blocks: int
    fill: float
    kv_dtype: str
    scales: Any  # of all KV heads

    def on(self, model: PreTrainedModel, link: Link) -> dict[str, Any]:
        """What this rank's pools are made with: of scales by head, those of the KV heads that it has."""
        scales = None if self.scales is None else scales_from(self.scales)
        if scales is not None and scales.granularity == "head":
            shards = shards_of(model.config, link.ranks)
            mine, heads = shards[link.rank].kv_heads, shards[-1].kv_heads[-1] + 1
            for scale in (scale for pair in scales.layers for scale in pair):
                if len(scale) != heads:  # type: ignore[arg-type]
                    raise UsageError(f"there are {heads} KV heads, and scales for {len(scale)}")  # type: ignore[arg-type]
            scales = Scales([(key[mine], value[mine]) for key, value in scales.layers], "head")  # type: ignore[index]
        return {"fill": self.fill, "kv_dtype": self.kv_dtype, "scales": scales}


class RankedEngine(Engine):
    """The `Engine` of rank 0, whose model was cut by `shard_model`. The other ranks `follow` it, with theirs.

    options: those of `Engine` that are a matter of integers, and `fill`, `kv_dtype` and `scales` (of all KV heads, of
    which each rank takes its own); any other is refused with `UsageError`, since the others would not know of it. It
    may idle for as long as it likes. A step that fails or is interrupted once the others were told of it cannot be
    repeated, as the ranks may have got to different places: the next one raises `RankLost`.
    """

    def __init__(
        self, model: PreTrainedModel, link: Link, num_blocks: int, block_size: int = 16, **options: Any
    ) -> None:
        refuse_unknown_options(options)
        host_blocks, scales = options.get("host_blocks", 0), options.get("scales")
        pools = _Pools(
            num_blocks, block_size, host_blocks, options.get("fill", 0.0), options.get("kv_dtype", "auto"), scales
        )
        mine = pools.on(model, link)
        link.say(pools)
        super().__init__(model, num_blocks, block_size, **options | mine)
        self.link = link
        self._placement = self._announcing = _Announcing(self.manager, self.paged, host_blocks, link)
        self._together, self._closed = True, False

    @property
    def sent_integers(self) -> int:
        """Integers of all steps so far, as the other ranks were told them."""
        return self._announcing.sent

    def step(self) -> Any:
        """`Engine.step`, on all ranks."""
        if not self._together:
            raise RankLost("the engine was closed, or an earlier step did not end on every rank; start the ranks again")
        self._together, words = False, self._announcing.words
        try:
            found = super().step()
        except BaseException:
            self._together = self._announcing.words == words  # the others wait for a word that was not begun
            raise
        self._together = True
        return found

    def close(self) -> None:
        """`Engine.close`, and let the others go: nothing can be served afterwards. Twice is once.

        After a step that did not end on every rank nobody may listen: the line is closed, and they hear `RankLost`.
        """
        super().close()
        if self._closed:
            return
        together, self._together, self._closed = self._together, False, True
        if together:
            self.link.say(None)
        else:
            self.link.close()


class _Announcing(Placement):
    """A placement that tells the other ranks what is to be done, once it is certain, and before it is begun here."""

    def __init__(self, manager: BlockManager, paged: PagedModel, host_blocks: int, link: Link) -> None:
        super().__init__(manager, paged, host_blocks)
        self.link, self.sent, self.words = link, 0, 0

    def place(self, plan: Plan, checked: bool = False) -> tuple[Batch, Ran]:
        """As in `Placement`."""
        rows, ran = self.rows(plan, checked)
        work = Work(list(plan.swap_out), list(plan.swap_in), list(plan.copies), rows)
        self.words += 1
        self.link.say(work)
        self.sent += work.num_integers
        self.copy(plan)
        return flatten(rows, self.manager.block_size, self.paged.device), ran


def follow(model: PreTrainedModel, link: Link) -> PagedModel:
    """Do on this rank what rank 0's `RankedEngine` says, until it is closed. Returns what holds this rank's pools."""
    pools: _Pools = link.say()
    paged = PagedModel(model, pools.num_blocks, pools.block_size, **pools.on(model, link))
    host = HostCache(paged.cache, pools.host_blocks) if pools.host_blocks else None
    while (work := link.say()) is not None:
        if host is not None:
            host.copy_out(work.swap_out)
            host.copy_in(work.swap_in)
        paged.cache.copy_blocks(work.copies)
        rows = [row._replace(wants_logits=False) for row in work.rows]  # nobody samples here
        paged.forward(flatten(rows, pools.block_size, paged.device))
    return paged

"""The bridge to Hugging Face: an unmodified causal language model, run on flattened batches over our pools.

The model is called with `cache=` an object of ours and with its attention set to the function registered here. In
each layer the cache writes the new keys and values into the pools; the attention then reads all of them through the
block tables.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface, PreTrainedModel

from kvlab.compute import Kernels, PagedAttention, PagedCache, Scales
from kvlab.compute.lab_kernels import decoder, writer
from kvlab.compute.scales import Scale
from kvlab.errors import UsageError
from kvlab.memory import LayerGroups

from .batch import Batch, Row, flatten
from .hf_flat import FlatCache
from .hf_float8 import backend_for, refuse_float8
from .hf_support import Unsupported, max_positions, refuse_unsupported

ATTENTION = "kvlab"  # under this name transformers finds `_attention`, while a `PagedModel` runs


def _attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    scaling: float | None = None,
    dropout: float = 0.0,
    *,
    kvlab_step: FlatCache | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """transformers' attention interface: query `[1, heads, T, dim]` to `[1, T, heads, value_dim]`."""
    if kvlab_step is None:
        raise UsageError(f'the attention "{ATTENTION}" runs in PagedModel only: it needs block tables, not a mask')
    layer: Any = module
    causal = options.get("is_causal")
    if not (getattr(layer, "is_causal", True) if causal is None else causal):
        raise Unsupported(f"{type(module).__name__} cannot be served on paged memory: its tokens see later ones too")
    if attention_mask is not None or options.get("position_bias") is not None:
        raise Unsupported(f"{type(module).__name__} asks for attention with a mask or bias of its own")
    sinks = options.get("s_aux")
    output = kvlab_step.attend(
        layer.layer_idx,
        query,
        key,
        value,
        scale=scaling,
        window=options.get("sliding_window"),
        softcap=options.get("softcap"),
        sinks=getattr(layer, "sinks", None) if sinks is None else sinks,
    )
    return output, None


AttentionInterface.register(ATTENTION, _attention)


class PagedModel:
    """A Hugging Face causal language model whose keys and values live in `cache`, a `PagedCache` of `num_blocks`
    blocks.

    The model's own code and weights stay as they are; its attention setting and training flags are changed during
    `forward` only, and restored whatever happens there. A model that would come out wrong is refused with
    `Unsupported`: one sentence, when the object is made. attention: a stand-in for `kvlab.compute.paged_attention`,
    such as a learner's. kernels: the same for single kernels; with a decode kernel there is no other `attention`, else
    `UsageError`. fill: what the pools hold at first. kv_dtype, scales: keys and values in 8 bits, as `PagedCache` takes
    them; PyTorch's attention then reads what the kernels of this GPU cannot, `backend` says why. A stand-in attention
    that takes no `key_scale` and `value_scale`, and single kernels, go without: `UsageError`. groups: of layers with
    block tables of their own, which rows then name in `others`; a block is then one of a group's layers, not of all,
    and scales that differ by layer go without: `UsageError`.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        num_blocks: int,
        block_size: int = 16,
        *,
        attention: PagedAttention | None = None,
        kernels: Kernels | None = None,
        fill: float = 0.0,
        kv_dtype: str = "auto",
        scales: Scales | str | tuple[Scale, Scale] | None = None,
        groups: LayerGroups | None = None,
    ) -> None:
        refuse_unsupported(model)
        kernels = kernels or Kernels()
        self.cache = PagedCache(num_blocks, block_size, fill=fill, kv_dtype=kv_dtype, scales=scales)
        if self.cache.dtype is not None:
            refuse_float8(attention, kernels)
        if attention is not None and kernels.decode is not None:
            raise UsageError("a decode kernel is part of an attention: give attention= or kernels=, not both")
        self.model = model
        self.device = model.device
        self.backend = backend_for(self.cache, model.device)
        latent = bool(getattr(model.config, "kv_lora_rank", None))
        if kernels.decode is not None:
            attention = decoder(kernels.decode, self.backend.attention)
        self._step = FlatCache(self.cache, attention or self.backend.attention, attention is None, latent, groups)
        if kernels.write is not None:
            self._step.writer = writer(kernels.write)
        arguments = inspect.signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in arguments else "past_key_values"
        self._keeps_logits = "logits_to_keep" in arguments
        self._parts: list[Any] = list(model.modules())
        configs = [part.config for part in self._parts if hasattr(part, "config")]
        self._configs = list({id(config): config for config in configs}.values())
        self._probe()

    def write_with(self, write: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], None] | None) -> None:
        """Let `write(key_pool, value_pool, key, value, slots)` write all that comes from now on; None changes nothing.

        It has the arguments of `kvlab.compute.write_kv`, for which it stands in.
        """
        if write is not None:
            self._step.writer = write

    @property
    def vocab_size(self) -> int:
        """Token ids the model knows: 0 to this, exclusive."""
        embeddings: Any = self.model.get_input_embeddings()
        return int(embeddings.weight.shape[0])

    @property
    def max_positions(self) -> int | None:
        """Positions the model can tell apart, whatever else is in the batch; None if its configuration does not say."""
        return max_positions(self.model.config)

    @property
    def eos(self) -> frozenset[int]:
        """The token ids that end an answer, as the model's generation settings have them."""
        ids = self.model.generation_config.eos_token_id
        return frozenset([ids] if isinstance(ids, int) else ids or [])

    def forward(self, batch: Batch) -> Tensor:
        """Run one step: write the batch's keys and values, and return `[len(logit_rows), vocab]` logits."""
        arguments: dict[str, Any] = {self._cache_name: self._step}
        if self._keeps_logits:
            arguments["logits_to_keep"] = batch.logit_rows
        with torch.inference_mode(), self._borrowed(), self._step.running(batch):
            output = self.model(batch.token_ids, position_ids=batch.positions, use_cache=True, **arguments)
        self._step.refuse_bypass(type(self.model).__name__)
        return output.logits[0] if self._keeps_logits else output.logits[0].index_select(0, batch.logit_rows)

    def run(self, rows: list[Row]) -> Tensor:
        """`forward` of the batch that `rows` make."""
        return self.forward(flatten(rows, self.cache.block_size, self.device))

    def _probe(self) -> None:
        """One token that is written nowhere: it makes every layer's pools, and shows that the model uses them."""
        others = [([0], [-1])] * (len(self._step.groups or [None]) - 1)
        row = Row([0], -1, [0], [-1], others=others)  # a context of 0 tokens: nothing is read either
        batch = flatten([row], self.cache.block_size, self.device)
        self.forward(batch._replace(positions=torch.zeros_like(batch.positions)))

    @contextmanager
    def _borrowed(self) -> Iterator[None]:
        """The model set to our attention and to evaluation, and put back."""
        before = [config._attn_implementation_internal for config in self._configs]
        training = [part for part in self._parts if part.training]
        try:
            for config in self._configs:
                config._attn_implementation_internal = ATTENTION
            for part in training:
                part.training = False
            yield
        finally:
            for config, name in zip(self._configs, before, strict=True):
                config._attn_implementation_internal = name
            for part in training:
                part.training = True

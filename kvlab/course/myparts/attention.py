"""Attention by the functions of lab 04 and the kernels of lab 05, each compared with the finished part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvlab.course.compare import TOLERANCE
from kvlab.course.interpreter import KernelFault
from kvlab.course.myparts.kernels import launchable
from kvlab.course.myparts.parts import Parts
from kvlab.course.myparts.wording import said, tensor_difference
from kvlab.errors import UsageError

DECODERS = ("grouped_decode_kernel", "paged_decode_kernel", "attend_blockwise")
"""Exercises that do the same; the first that is the learner's does it."""

ON_GPU = 5e-3  # matrix units of a GPU round float32 to TF32 (F31)


def attention(parts: Parts, finished: Callable[..., Any]) -> Callable[..., Any] | None:
    """Attention by the learner's, with the arguments of `kvlab.compute.paged_attention`; None if none is theirs.

    A sequence with one new token goes to the kernel or to `attend_blockwise`, every other to `paged_attention`, or by
    way of `gather_kv` to the finished part. Windows, soft caps and sinks are none of the labs': the finished part does
    those.
    """
    if not any(name in parts.mine for name in (*DECODERS, "paged_attention", "gather_kv")):
        return None

    def attend(query: Any, key_pool: Any, value_pool: Any, block_tables: Any, query_start: Any, context_lengths: Any,
               *, scale: float | None = None, **options: Any) -> Any:
        options.pop("plan", None)
        batch = key_pool, value_pool, block_tables, query_start, context_lengths
        wanted = finished(query, *batch, scale=scale, **options)
        asked = [name for name in ("window", "softcap", "sinks") if options.get(name) is not None]
        if asked:
            for name in (*DECODERS, "paged_attention", "gather_kv"):
                parts.set_aside(name, f"this model asks for a {asked[0]}, which the lab's does not know")
            return wanted
        return _Attention(parts, finished, scale).run(query, batch, wanted)

    return attend


class _Attention:
    """One layer's attention, part by part. Tensors are those of `kvlab.compute.paged_attention`."""

    def __init__(self, parts: Parts, finished: Callable[..., Any], scale: float | None) -> None:
        self.parts, self.finished, self.scale = parts, finished, scale

    def run(self, query: Any, batch: tuple[Any, ...], wanted: Any) -> Any:
        """The learner's numbers where they are right, else those of `wanted`."""
        counts = batch[3].diff()
        one = counts == 1
        output = wanted.clone()
        decoders = [name for name in DECODERS if name in self.parts.mine]
        if decoders and bool(one.any()):
            rows = one.repeat_interleave(counts)
            self._put(decoders[0], output, rows, lambda: self._decoded(decoders[0], query[rows], batch, one))
            one = ~one
        else:
            one = counts >= 0
        if bool(one.any()):
            rows = one.repeat_interleave(counts)
            self._others(output, query[rows], _only(batch, one), rows)
        return output

    def _others(self, output: Any, query: Any, batch: tuple[Any, ...], rows: Any) -> None:
        part = self.parts.mine.get("paged_attention")
        if part is not None:
            arguments = *batch[:2], *(tensor.clone() for tensor in batch[2:])
            self._put("paged_attention", output, rows, lambda: part(query.clone(), *arguments, scale=self.scale))
        elif "gather_kv" in self.parts.mine:
            output[rows] = self._gathered(query, batch)

    def _put(self, name: str, output: Any, rows: Any, call: Callable[[], Any]) -> None:
        """The rows that `call` gives, if they are what stands there already, give or take rounding."""
        wanted = output[rows]
        got, error = self.parts.attempt(name, call)
        if isinstance(error, UsageError) and name.endswith("_kernel"):
            self.parts.set_aside(name, str(error))
            return
        if error is not None:
            wrong = error.sentence if isinstance(error, KernelFault) else f"{said(error)}, expected numbers."
        else:
            wrong = _wrong_numbers(wanted, got)
        if wrong:
            self.parts.blame(name, f"{name} for {len(wanted)} tokens {wrong}", "I12")
        else:
            output[rows] = got

    def _decoded(self, name: str, query: Any, batch: tuple[Any, ...], one: Any) -> Any:
        key_pool, value_pool, tables, _, lengths = batch
        part = self.parts.mine[name]
        if name == "attend_blockwise":
            import torch

            found = [part(row.clone(), key_pool, value_pool, table.tolist(), length, self.scale)[0]
                     for row, table, length in zip(query, tables[one], lengths[one].tolist(), strict=True)]
            return torch.stack(found).to(query.dtype)
        from kvlab.kernels.basic_decode import basic_decode

        kernel = launchable(part, query.device)
        try:
            return basic_decode(query, key_pool, value_pool, tables[one], lengths[one], scale=self.scale, kernel=kernel)
        except ValueError as trouble:
            raise UsageError(f"it cannot do these sizes: {trouble}") from trouble

    def _gathered(self, query: Any, batch: tuple[Any, ...]) -> Any:
        """Attention by the finished part, over what `gather_kv` has laid side by side, sequence by sequence."""
        import torch

        key_pool, value_pool, tables, starts, lengths = batch
        found = []
        for s, length in enumerate(lengths.tolist()):
            rows, table = query[int(starts[s]) : int(starts[s + 1])], tables[s].tolist()
            if not length:
                found.append(rows.new_zeros(*rows.shape[:2], value_pool.shape[-1]))
                continue
            pools = [self.parts.pure("gather_kv", pool, table, length).unsqueeze(0) for pool in (key_pool, value_pool)]
            begin = starts.new_tensor([0, len(rows)])
            found.append(self.finished(rows, *pools, tables.new_zeros(1, 1), begin, lengths[s : s + 1],
                                       scale=self.scale))
        return torch.cat(found)


def _only(batch: tuple[Any, ...], chosen: Any) -> tuple[Any, ...]:
    """The batch with the chosen sequences alone."""
    key_pool, value_pool, tables, starts, lengths = batch
    if bool(chosen.all()):
        return batch
    begin = starts.new_zeros(int(chosen.sum()) + 1)
    begin[1:] = starts.diff()[chosen].cumsum(0)
    return key_pool, value_pool, tables[chosen], begin, lengths[chosen]


def _wrong_numbers(wanted: Any, got: Any) -> str:
    """What is wrong with an attention's rows, or an empty string."""
    shape = getattr(got, "shape", None)
    if shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{tensor_difference(wanted, got)}."
    allowed = ON_GPU if got.is_cuda else TOLERANCE.get(str(wanted.dtype).removeprefix("torch."), 0.0)
    if bool(got.double().isclose(wanted.double(), rtol=allowed, atol=allowed, equal_nan=True).all()):
        return ""
    return f"{tensor_difference(wanted, got)}."

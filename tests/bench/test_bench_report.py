"""Tables and verdicts, from runs invented for the purpose."""

from __future__ import annotations

from dataclasses import replace

import pytest
from invented import NOWHERE, run_of, steady, took

from kvlab.bench import LAW, MUST, Case, Run, decode_cases, few, write_cases
from kvlab.bench.record import CONTIGUOUS, COPY, GATHER, KERNEL, SDPA, LeftOut
from kvlab.bench.table import report, table
from kvlab.bench.targets import Target, targets

CASE = Case("decode", 8, 16384)  # 536,870,912 bytes
INVENTED_H200 = "H200 invented for tests"


def cells(text: str) -> dict[str, str]:
    """Column -> cell of a table with one line."""
    names, values = text.splitlines()
    names = names.replace("in one piece us", "one-piece").replace("copy GB/s", "copy-GB/s").replace("of copy", "share")
    for name in ("SDPA", "PyTorch", "law", "must", "yours"):
        names = names.replace(f"{name} us", name)
    return dict(zip(names.split(), values.split(), strict=True))


def verdicts(run: Run) -> dict[str, tuple[int, int]]:
    """First words of each target -> (held, of)."""
    return {" ".join(target.words.split()[:2]): (target.held, target.of) for target in targets(run)}


def test_a_line_of_the_table_has_bytes_times_and_the_share_of_the_copy() -> None:
    measurements = [took(CASE, KERNEL, 200e-6), took(CASE, COPY, 100e-6), took(CASE, SDPA, 210e-6)]
    measurements += [took(CASE, GATHER, 3e-3), took(CASE, CONTIGUOUS, 190e-6), took(CASE, "yours", 5e-3)]
    found = cells(table(run_of(measurements), "decode"))
    assert (found["batch"], found["context"], found["block"], found["heads"]) == ("8", "16,384", "16", "32:8")
    assert (found["MB"], found["us"], found["p10-p90"]) == ("536.87", "200.0", "180.0-220.0")
    assert (found["GB/s"], found["copy-GB/s"], found["share"]) == ("2,684", "5,369", "50%")
    assert (found["SDPA"], found["PyTorch"], found["one-piece"]) == ("210.0", "3,000.0", "190.0")
    assert found["yours"] == "5,000.0" and "law" not in found


def test_the_law_of_an_h200_stands_beside_numbers_of_an_h200_only() -> None:
    for seconds, within in ((LAW.seconds(CASE.bytes), "law"), (MUST.seconds(CASE.bytes), "must"), (1e-3, "no")):
        found = cells(table(run_of([took(CASE, KERNEL, seconds)], INVENTED_H200), "decode"))
        assert (found["law"], found["must"], found["within"]) == ("135.4", "146.2", within)
    assert "law us" not in table(run_of([took(CASE, KERNEL, 1e-3)]), "decode")


def test_the_tflops_of_a_prefill_are_its_operations_over_the_time() -> None:
    case = Case("prefill", 1, 8192, 8192)
    found = cells(table(run_of([took(case, KERNEL, case.operations / 400e12)]), "prefill"))
    assert found["TFLOP/s"] == "400" and found["new"] == found["context"] == "8,192"


def test_the_report_names_device_versions_and_what_was_left_out() -> None:
    run = steady(few(), lambda size: 1e-5 + size / 4e12)
    why = "it takes up to 90.0 GiB of device memory, and 60.0 may be used"
    run.left_out += [LeftOut(Case("decode", 128, 65536, block_size=size), "everything", why) for size in (16, 64)]
    said = report(run)
    assert said.startswith(f"{NOWHERE}, measured 2000-01-01") and "kvlab 0, torch 0" in said
    assert f"everything: {why} (2 cases, the first decode of 128 x 65,536 tokens" in said
    assert "prefill\n" not in said and "write\n" not in said
    copied = few()[-1].bytes / (0.8 * (1e-5 + few()[-1].bytes / 4e12)) / 1e9
    assert f"fastest device copy of this run: {copied:,.0f} GB/s" in said


def test_on_an_h200_the_targets_in_microseconds_are_counted_case_by_case() -> None:
    cases = decode_cases()[:16]
    just = steady(cases, MUST.seconds, INVENTED_H200)
    assert verdicts(just)["decode in"] == (0, 16)  # the last of the two is the law
    (must, law) = [target for target in targets(just) if target.words.startswith("decode in")]
    assert (must.held, must.of, law.held) == (16, 16, 0) and "12 us" in must.words and "10.5 us" in law.words
    assert not [target for target in targets(steady(cases, MUST.seconds)) if "us + bytes" in target.words]


def test_a_write_is_held_to_its_rate_from_5120_tokens_on() -> None:
    run = steady(write_cases([16], ["bf16"]), lambda size: size / 1.91e12, INVENTED_H200)
    assert verdicts(run)["writes of"] == (3, 3)
    slower = steady(write_cases([16], ["bf16"]), lambda size: size / 1.8e12, INVENTED_H200)
    assert verdicts(slower)["writes of"] == (0, 3)


@pytest.mark.parametrize(("seconds", "held"), [(1.04, 1), (1.06, 0)])
def test_pages_of_16_are_held_to_pages_of_64(seconds, held) -> None:
    run = run_of([took(CASE, KERNEL, seconds), took(replace(CASE, block_size=64), KERNEL, 1.0)])
    assert verdicts(run)["pages of"] == (held, 1)


@pytest.mark.parametrize(("system", "words", "limit"), [(CONTIGUOUS, "pages within", 1.08), (SDPA, "0.9 of", 1 / 0.9)])
def test_pages_are_held_to_what_contiguous_memory_takes(system, words, limit) -> None:
    for share, held in ((0.999, 1), (1.001, 0)):
        run = run_of([took(CASE, KERNEL, share * limit), took(CASE, system, 1.0)])
        assert verdicts(run)[words] == (held, 1)


def test_fp8_is_held_to_its_gain_only_where_there_is_enough_to_read() -> None:
    small = Case("decode", 1, 1024)
    for gain, held in ((1.61, 1), (1.59, 0)):
        pairs = [(case, replace(case, dtype="fp8")) for case in (CASE, small)]
        found = [entry for plain, fp8 in pairs for entry in (took(plain, KERNEL, gain), took(fp8, KERNEL, 1.0))]
        assert verdicts(run_of(found))["FP8 1.6"] == (held, 1)


@pytest.mark.parametrize(("difference", "held"), [(0.004, 1), (0.5, 0), (float("nan"), 0)])
def test_a_fast_kernel_with_a_wrong_result_is_found_out(difference, held) -> None:
    assert verdicts(run_of([took(CASE, KERNEL, 1e-6, difference)]))["the same"] == (held, 1)


def test_what_was_not_measured_is_said_to_be_so() -> None:
    assert Target("writes", 0, 0, "").line == "writes: not measured"
    assert all(target.line.endswith("not measured") for target in targets(run_of()))

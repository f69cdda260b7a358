"""The page to take home: the learner's words and numbers, beside what the course would say."""

from __future__ import annotations

from kvlab.course import notebooks, predict, progress, recall, reveal, say_it, take_home
from kvlab.course.questions import SAY_IT
from kvlab.course.session import session

INTERVIEW = [prompt for prompt in SAY_IT if prompt.lab.startswith("11")]


def test_before_anything_was_said_the_page_has_the_questions_and_the_answers():
    text = take_home().text
    assert len(INTERVIEW) == 4
    assert all(prompt.prompt in text and prompt.model in text for prompt in INTERVIEW)
    assert "makes the KV cache smaller" in text and "| 03 Blocks and tables | 0 of" in text
    assert "What I predicted" not in text and "What I measured" not in text


def test_words_predictions_and_measurements_are_on_it(capsys):
    say_it("11", "Nobody knows the length, so the maximum was reserved. A block table helps.")
    predict("11-gain", 3, unit="times")
    reveal("11-gain", 2)
    predict("11-padding", 20, unit="%")  # never revealed
    recall("11-budget", "c")
    text = take_home({"paged over reserved": 2.125, "at once": "8 and 32"}).text
    assert "> Nobody knows the length, so the maximum was reserved." in text and "2 of 6 points." in text
    assert "| 11 gain | 3 times | 2 times | off by 1 |" in text and "padding" not in text
    assert "| paged over reserved | 2.125 |" in text and "| at once | 8 and 32 |" in text
    assert "1 of 1 recall questions right" in text


def test_the_advice_on_ticks_names_the_variable_of_the_labs_cell(capsys):
    for lab, variable in (("11", "my_words"), ("11-no-block", "no_block"), ("11-outputs", "outputs")):
        say_it(lab, "Somebody waits.")
        assert f'say_it("{lab}", {variable}, ticks=[1, 3])' in capsys.readouterr().out
        assert f"{variable} = " in "\n".join(notebooks.cells("labs", "11"))


def test_what_a_learner_wrote_stays_text():
    say_it("11", "<script>alert(1)</script>\n# not a heading | `code` [link](x)")
    page = take_home({"a|b": "x|y"})
    assert "<script" not in page.text.replace("\\<", "") and "\n# not" not in page.text
    assert "| a\\|b | x\\|y |" in page.text


def test_a_file_edited_by_hand_does_not_stop_it():
    session().progress.change(lambda all_: all_["say_it"].update({"11": {"text": 3, "ticks": None}, "11-outputs": {}}))
    session().progress.change(lambda all_: all_["predictions"].update({"11-gain": {"actual": 2}, "x": {"guess": 1}}))
    assert INTERVIEW[0].model in take_home().text


def test_it_shows_itself_as_markdown_and_is_saved_as_it_is(tmp_path):
    page = take_home()
    shown = page._repr_mimebundle_()
    assert shown["text/markdown"] == shown["text/plain"] == repr(page) == page.text
    page.save(tmp_path / "page.md")
    page.save(tmp_path / "page.md")
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == page.text


def test_what_was_said_in_the_interview_counts_as_one_lab_in_the_overview(capsys):
    for prompt in INTERVIEW:
        say_it(prompt.lab, prompt.model)
    assert str(progress()).endswith("said aloud: lab 11")

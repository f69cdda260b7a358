"""The box of `say_it` in a notebook: a timer, room to write, then the rubric to tick and a model answer."""

from __future__ import annotations

import html
from typing import Any

import ipywidgets as widgets

from kvlab.course import speak
from kvlab.course.questions import SayIt


class SpeakBox:
    """Shows itself as widgets in a live notebook, and as one line of text wherever there are none."""

    def __init__(self, prompt: SayIt) -> None:
        self.prompt = prompt
        self.text = widgets.Textarea(placeholder="What you said, in your own words", rows=5,
                                     layout=widgets.Layout(width="95%"))
        self.done = widgets.Button(description="Show the rubric", tooltip="Only after you wrote something")
        self.after = widgets.VBox([])
        self.done.on_click(lambda _: self.show_rubric())
        self.box = widgets.VBox([self._timer(), self.text, self.done, self.after])

    def _timer(self) -> widgets.HBox:
        """Runs in the browser: the kernel is free meanwhile."""
        clock = widgets.Play(min=0, max=self.prompt.seconds, interval=1000, show_repeat=False)
        bar = widgets.IntProgress(min=0, max=self.prompt.seconds, description="seconds")
        count = widgets.IntText(disabled=True, layout=widgets.Layout(width="5em"))
        widgets.jslink((clock, "value"), (bar, "value"))
        widgets.jslink((clock, "value"), (count, "value"))
        return widgets.HBox([clock, bar, count])

    def show_rubric(self) -> None:
        """The rubric, ticked by guess, and the model answer; a reminder as long as nothing was written."""
        if not self.text.value.strip():
            self.after.children = [widgets.HTML("Write down what you said first, then compare.")]
            return
        made = speak.ticked(self.prompt, self.text.value)
        points = enumerate(self.prompt.rubric, 1)
        self.ticks = [widgets.Checkbox(value=number in made, description=point.text, indent=False,
                                       layout=widgets.Layout(width="95%")) for number, point in points]
        for tick in self.ticks:
            tick.observe(lambda _: self._keep(), "value")
        model = widgets.HTML(f"<p><b>A model answer.</b> {html.escape(self.prompt.model)}</p>")
        intro = widgets.HTML("Did you say this? The ticks are guessed from key words: set them right.")
        self.after.children = [intro, *self.ticks, model]
        self._keep()

    def _keep(self) -> None:
        made = [number for number, tick in enumerate(self.ticks, 1) if tick.value]
        speak.record(self.prompt, self.text.value, made)

    def __repr__(self) -> str:
        return f"A box to write in, with a timer of {self.prompt.seconds} seconds, shows here in a live notebook."

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return (self.box._repr_mimebundle_() or {}) | {"text/plain": repr(self)}

"""One notebook in a browser: what a learner does there, in their words."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from playwright.sync_api import Locator, Page, sync_playwright

from tests.browser.jupyter import FLAGS, Server, chromium

PANEL = "window.jupyterapp.shell.currentWidget"
CONNECTED = f"""() => {{
    const context = window.jupyterapp && {PANEL} && {PANEL}.sessionContext;
    const kernel = context && context.isReady && context.session && context.session.kernel;
    return Boolean(kernel && kernel.connectionStatus === 'connected' && kernel.status === 'idle');
}}"""  # the toolbar says "idle" before there is a session, so it is the session that is asked

WATCH = f"""index => {{
    const model = {PANEL}.content.widgets[index].model;
    let running = window.kvlabCellEnded = false;
    model.stateChanged.connect((_, change) => {{
        if (change.name !== 'executionState') return;
        window.kvlabCellEnded = running && change.newValue === 'idle';
        running = change.newValue === 'running';
    }});
}}"""  # an execution count says nothing: after a restart the first cell is 1 again


@contextlib.contextmanager
def browser_page(width: int = 1280, height: int = 1000, dark: bool = False) -> Iterator[Page]:
    """A page of a fresh headless Chromium; `page.console_errors` collects what the console reports as errors."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), headless=True, args=FLAGS)
        try:
            page = browser.new_page(
                viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
            )
            yield page
        finally:
            browser.close()


class NotebookPage:
    """A notebook open in JupyterLab, its kernel connected."""

    def __init__(self, page: Page, server: Server, notebook: str) -> None:
        self.page = page
        page.goto(server.url(notebook))
        self.wait_connected()

    def wait_connected(self, seconds: float = 60) -> None:
        """Wait until the session is attached and its kernel idle."""
        self.page.wait_for_function(CONNECTED, timeout=1000 * seconds)

    def command(self, name: str, seconds: float = 180) -> None:
        """Run a JupyterLab command to its end."""
        self.page.set_default_timeout(1000 * seconds)
        self.page.evaluate(f"async () => {{ await window.jupyterapp.commands.execute('{name}'); }}")
        self.page.set_default_timeout(30_000)

    def run_all(self) -> None:
        """Run every cell; returns when the last has ended, or the first has failed."""
        self.command("notebook:run-all-cells")
        self.wait_connected()

    def cell_index(self, cell_id: str) -> int:
        """Position of the cell with this id."""
        ids = self.page.evaluate(f"() => [...{PANEL}.content.model.cells].map(cell => cell.id)")
        return ids.index(cell_id)

    def cell(self, cell_id: str) -> Locator:
        """The cell with this id, as shown."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(self.cell_index(cell_id))

    def write(self, cell_id: str, code: str) -> None:
        """Replace a code cell's text, through its editor as with a paste (typing would close brackets and indent)."""
        self.cell(cell_id).locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(code)

    def run(self, cell_id: str) -> str:
        """Run one cell with Shift+Enter; returns what it printed, once it has ended."""
        self.cell(cell_id).locator(".cm-content").click()
        self.page.evaluate(WATCH, self.cell_index(cell_id))
        self.page.keyboard.press("Shift+Enter")
        self.page.wait_for_function("() => window.kvlabCellEnded")
        return self.output(cell_id)

    def output(self, cell_id: str) -> str:
        """The text of the cell's outputs as shown."""
        return self.cell(cell_id).locator(".jp-Cell-outputWrapper").inner_text()

    def save(self) -> None:
        """Save the notebook."""
        self.command("docmanager:save")

    def restart_kernel(self) -> None:
        """Kernel > Restart Kernel, with its dialog."""
        self.page.get_by_role("menuitem", name="Kernel", exact=True).click()
        self.page.locator('.lm-Menu-item[data-command="kernelmenu:restart"]').click()
        self.page.locator(".jp-Dialog button.jp-mod-accept").click()
        self.page.wait_for_function(f"() => {PANEL}.sessionContext.session.kernel.status !== 'idle'")
        self.wait_connected()

    def problems(self) -> list[str]:
        """Cells that show an error, a dead widget, or an output wider than the room it has."""
        return self.page.evaluate(PROBLEMS)


ROOMS = ".jp-RenderedText pre, .jp-RenderedHTMLCommon, .jp-RenderedImage, .jupyter-widgets"
STDERR = '[data-mime-type="application/vnd.jupyter.stderr"]'
PROBLEMS = f"""() => {{
    const found = [];
    {PANEL}.content.widgets.forEach((widget, index) => {{
        const tell = text => found.push(`cell ${{index}} (${{widget.model.id}}): ${{text}}`);
        const outputs = widget.model.type === 'code' ? widget.model.outputs : null;
        for (let i = 0; outputs && i < outputs.length; i++) if (outputs.get(i).type === 'error') tell('error output');
        if (widget.node.querySelector('{STDERR}')) tell('red box (stderr)');
        if (/Error displaying widget|Loading widget|javascript error/.test(widget.node.innerText)) tell('dead widget');
        for (const node of widget.node.querySelectorAll('{ROOMS}')) {{
            const [wide, room] = [node.scrollWidth, node.clientWidth];
            if (room && wide > room + 1) tell(`${{node.className || node.tagName}} is ${{wide}} px wide in ${{room}}`);
        }}
    }});
    return found;
}}"""

"""What axe-core finds in a page."""

from __future__ import annotations

from importlib.resources import files

from playwright.sync_api import Page

FINDINGS = """async (rules) => {
    const only = rules ? { runOnly: { type: "rule", values: rules } } : {};
    const { violations } = await axe.run(document, { resultTypes: ["violations"], ...only });
    return violations.flatMap(({ id, nodes }) =>
        nodes.map((node) => `${id}: ${node.target} ${node.failureSummary}`));
}"""


def findings(page: Page, scheme: str) -> list[str]:
    """What axe finds in the page and in each of its frames, as the film and the stepper are.

    A page differs in its colours alone when dark, so only their contrast is looked at then.
    """
    rules = ["color-contrast"] if scheme == "dark" else None
    axe = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    found: list[str] = []
    for frame in page.frames:
        if not frame.evaluate("'axe' in window"):
            frame.evaluate(axe)
        found += frame.evaluate(FINDINGS, rules)
    return found

"""What axe-core finds in a page."""

from __future__ import annotations

from importlib.resources import files

from playwright.sync_api import Page, expect

FINDINGS = """async (rules) => {
    const only = rules ? { runOnly: { type: "rule", values: rules } } : {};
    const { violations } = await axe.run(document, { resultTypes: ["violations"], ...only });
    const measured = ({ any, all, none }) => [...any, ...all, ...none]
        .map(({ id, data }) => data ? `${id} ${JSON.stringify(data)}` : id).join("; ");
    return violations.flatMap(({ id, nodes }) => nodes.map((node) =>
        `${id}: ${node.target} ${node.failureSummary}\\n${node.html}\\n${measured(node)}`));
}"""
STATE = "found => found.map(({ dataset }) => JSON.stringify(dataset)).join(' ')"
"""What the live view shows of its run, if the page has one."""


def expect_no_findings(page: Page, scheme: str, *, but: str | None = None) -> None:
    """Fail with all that axe finds, whole; `but` begins what it may find."""
    found = [each for each in _findings(page, scheme) if but is None or not each.startswith(but)]
    assert not found, "\n\n".join(found)


def _findings(page: Page, scheme: str) -> list[str]:
    """What axe finds in the page and in each of its frames, as the film and the stepper are.

    A page differs in its colours alone when dark, so only their contrast is looked at then.
    Each finding says the rule, the element with its HTML, what was measured (colours, sizes),
    and the page with its state just before: it may be gone when someone looks.
    """
    rules = ["color-contrast"] if scheme == "dark" else None
    axe = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    # Streamlit draws the tooltip of what the mouse rests on outside of every landmark.
    page.mouse.move(0, 0)
    expect(page.locator("#stFloatingOverlayPortal [role=tooltip]")).to_have_count(0)
    found: list[str] = []
    for frame in page.frames:
        state = frame.locator(".live").evaluate_all(STATE)
        if not frame.evaluate("'axe' in window"):
            frame.evaluate(axe)
        found += [
            f"{each}\nin {frame.url}, {scheme}, {state}" for each in frame.evaluate(FINDINGS, rules)
        ]
    return found

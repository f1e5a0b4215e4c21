"""`docs/advice.md` from the rules.

python -m tests.reference.advice > docs/advice.md
"""

from __future__ import annotations

import inspect
import sys

from strategy_profiles.analysis.advice.registry import RULES, Rule

_HEAD = """# Advice

<!-- Made by `python -m tests.reference.advice`; a test compares. -->

Why a run is slow: the page Why, the report and `strategy-lab summary` give every finding with its
cost, the largest first. Each finding comes from a rule, a file in
`profiles/strategy_profiles/analysis/advice/rules`.
In `strategy-lab summary --json`, `edits` of a finding names the changes of the RunSpec that its
rule proposes, if the lab can make them, and `caused_by` the finding that it follows from: what
makes a replica late comes before the late replica.

Where a change of the captured steps removes the cause, a replay predicts what a step would take
then, with its interval and the replay's error: on the page Why, in the report, for agents, and with
`strategy-lab summary --gains`. A [package](extending.md) does that, which comes with the lab.
"""


def reference() -> str:
    """The page."""
    return "\n".join([_HEAD, *(_section(rule) for rule in RULES)])


def _section(rule: Rule) -> str:
    title, _, rest = inspect.cleandoc(rule.text).partition("\n")
    proposes = _proposal(rule)
    body = rest.strip().replace("## ", "### ")
    predicts = _prediction(rule)
    return f"## `{rule.key}`\n\n**{title}**\n\n{body}\n\n{proposes}\n\n{predicts}\n"


def _proposal(rule: Rule) -> str:
    if rule.edits is None:
        return "The lab cannot make the change itself."
    return f"The lab proposes: {inspect.getdoc(rule.edits)}"


def _prediction(rule: Rule) -> str:
    if isinstance(rule.removal, str):
        return f"No gain is predicted. {rule.removal}"
    return f"The gain is predicted by a replay: {inspect.getdoc(rule.removal)}"


if __name__ == "__main__":
    sys.stdout.write(reference())

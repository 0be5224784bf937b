"""``memd inject``, ``synthesize`` and ``brief``: show what memd adds to an assistant's prompt."""

from __future__ import annotations

from typing import Annotated, Any

from memd.cli import console, options
from memd.cli.connection import call
from memd.cli.project import find_project_id, list_projects, project_id_or_here, report_moved

_SINGULAR = {
    "policies": "policy",
    "preferences": "preference",
    "facts": "fact",
    "lessons": "lesson",
    "memories": "memory",
    "instructions": "instruction",
}


@options.examples(
    'memd inject "how do we deploy?"',
    'memd inject "how do we deploy?" --budget 500',
    'memd inject "how do we deploy?" --synthesize',
    'memd inject "who is who" --strategy self_editing --json',
)
def inject(
    query: Annotated[list[str], "QUESTION...", "The user's question."],
    budget: options.Budget = None,
    strategy: Annotated[
        str | None,
        "--strategy NAME",
        "context, tool_based or self_editing; default: from the settings.",
    ] = None,
    category: options.Category = None,
    project: options.PromptProject = None,
    nonce: Annotated[bool, "--nonce", "Mark each remembered line with a nonce."] = False,
    synthesize: Annotated[
        bool | None,
        "--synthesize, --no-synthesize",
        "Synthesize one block instead of listing memories; default: from the settings.",
    ] = None,
    agent: options.Agent = None,
) -> None:
    """Show what memd would add to a prompt."""
    prompt: dict[str, Any] = call(
        "inject.prepare",
        query=options.join_words(query),
        token_budget=budget,
        strategy=strategy,
        categories=[category] if category else None,
        project_id=project_id_or_here(project, agent),
        nonce=nonce,
        synthesize=synthesize,
        agent_id=agent,
    )
    if console.print_if_json(prompt):
        return
    show_messages(prompt, "nothing to add to the prompt")
    if least := prompt.get("minimum_required_tokens"):
        console.note(f"no memory fits the budget; the smallest needs {least:,} tokens")


def show_messages(prompt: dict[str, Any], nothing: str) -> None:
    """Print the messages of a prompt, their tokens and what was left out; *nothing* for none."""
    for message in prompt["messages"]:
        console.out(console.bold(f"{message['role']}:"))
        # memd's own tags are kept; the stored text inside them is already escaped.
        console.out(console.quote_prompt(message["content"]))
    if not prompt["messages"]:
        console.note(nothing)
    console.note(
        f"{prompt['tokens_used']:,} of {prompt['token_budget']:,} tokens{_format_left_out(prompt)}"
    )
    for warning in prompt.get("warnings", ()):
        console.note(f"memd: {warning}; policies come first: use a larger budget")
    if prompt.get("degraded"):
        console.note(f"memd: {prompt['degraded']}")


def _format_left_out(prompt: dict[str, Any]) -> str:
    counts: dict[str, int] = dict(prompt["left_out"])
    in_window = counts.pop("in_window", 0)
    parts = [f"{n} {_SINGULAR[name] if n == 1 else name}" for name, n in counts.items() if n]
    text = f"; left out: {', '.join(parts)}" if parts else ""
    return text + (f"; {in_window} already in the session" if in_window else "")


@options.examples(
    'memd synthesize "how do I fix Docker networking?"',
    'memd synthesize "deploy" --budget 1000 --session s1 --json',
)
def synthesize(
    query: Annotated[list[str], "QUERY...", "The question."],
    budget: options.Budget = None,
    session: options.Session = None,
    project: options.Project = None,
    agent: options.Agent = None,
) -> None:
    """Put lessons, messages and summaries into one short block."""
    synthesis = call(
        "memory.synthesize",
        query=options.join_words(query),
        max_tokens=budget,
        session_id=session,
        project_id=find_project_id(project, agent),
        agent_id=agent,
    )
    if console.print_if_json(synthesis):
        return
    if synthesis["block"]:
        console.out(console.quote_prompt(synthesis["block"]))
    else:
        console.note("nothing matches" if not synthesis["left_out"] else "nothing fits the budget")
    if synthesis.get("degraded"):
        console.note(f"memd: {synthesis['degraded']}")


@options.examples(
    "memd brief",
    "memd brief --project billing",
    "memd brief --session planning-2026 --json",
)
def brief(
    project: options.PromptProject = None,
    session: Annotated[
        str | None, "--session ID", "Session that gets the brief; what it already has is left out."
    ] = None,
    budget: options.Budget = None,
    agent: options.Agent = None,
) -> None:
    """Show the brief that a new session gets.

    A session gets it again after its context window was compacted. In a project's folder it covers
    that project, elsewhere all projects.
    """
    project_id = project_id_or_here(project, agent)
    answer: dict[str, Any] = call(
        "inject.brief",
        project_id=project_id,
        session_id=session,
        token_budget=budget,
        agent_id=agent,
    )
    if console.print_if_json(answer):
        return
    others = options.command_line("project list", list_projects, agent=agent)
    of_project = (
        f" of {console.line(project_id)}; the known projects: {others}" if project_id else ""
    )
    show_messages(answer, f"nothing to tell yet{of_project}")
    report_moved(project_id, agent)

"""Pages that are made while the site is built, so that they cannot drift: commands, the study file, the public API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import msgspec

import barrow
from barrow.cli.main import cli
from barrow.study.file import StudyFile

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files


def commands_page() -> str:
    """The help of every command, as the terminal shows it."""
    parts = ["# Command line\n\nWhat `--help` says for each command.\n"]

    def add(command: click.Command, path: list[str], parent: click.Context | None) -> None:
        context = click.Context(command, info_name=path[-1], parent=parent, max_content_width=100, terminal_width=100)
        parts.append(f"## {' '.join(path)}\n\n```text\n{command.get_help(context)}\n```\n")
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                if found is not None and not found.hidden:
                    add(found, [*path, name], context)

    add(cli, ["barrow"], None)
    return "\n".join(parts)


def study_page() -> str:
    """The schema of study.toml."""
    schema = json.dumps(msgspec.json.schema(StudyFile), indent=2)
    return (
        "# The study file\n\n`study.toml` holds one data set, one space, the promises, and any number of questions. "
        "Its JSON Schema (`study.schema.json` beside this page):\n\n"
        f"```json\n{schema}\n```\n"
    )


def api_page() -> str:
    """Every public name with its docstring."""
    names = sorted(name for name in barrow.__all__ if not name.startswith("_"))
    lines = ["# Python", "", "`import barrow as bw` gives these names.", ""]
    for name in names:
        value = getattr(barrow, name)
        lines += [f"::: {getattr(value, '__module__', 'barrow')}.{name}", ""]
    return "\n".join(lines)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Mkdocs calls this with the pages that it found."""
    from mkdocs.structure.files import File

    made = {
        "reference/commands.md": commands_page(),
        "reference/study-file.md": study_page(),
        "reference/study.schema.json": json.dumps(msgspec.json.schema(StudyFile), indent=2) + "\n",
        "reference/api.md": api_page(),
    }
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files

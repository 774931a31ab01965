"""The memory of the main module as terminal text: what the peak is made of, by class and buffer.

Takes a report whose texts are already legible. Says of each line whether it is inferred, and of all
figures whether they are an estimate.
"""

from rich.console import Console
from rich.text import Text

from app.model.memory import LiveBuffer, Memory
from app.model.report import Module, Report
from app.report.memory_words import CLASS_WORDS
from app.report.terminal_columns import indented, table_of
from app.report.wording import counted, cut_list, place_text, size_text

_MOST_BUFFERS = 8
_MOST_OPERATIONS = 4


def print_memory(report: Report, module: Module | None, console: Console) -> None:
    """Print the section, where anything is known of the module's peak."""
    known = (*report.memory, *report.memory_estimates)
    memory = next((m for m in known if module is not None and m.module == module.id), None)
    if memory is None or memory.peak is None or not memory.peak.largest:
        return
    peak = memory.peak
    estimate = ", an estimate" if memory.estimate else ""
    console.print()
    console.print(
        Text(f"Memory at the peak ({size_text(peak.bytes)}{estimate})", style="bold underline")
    )
    classes = ", ".join(
        f"{word} {size_text(size)}"
        for name, word in CLASS_WORDS.items()
        if (size := peak.classes.get(name, 0))
    )
    console.print(indented(Text(classes)))
    rows = [
        (
            Text(size_text(buffer.bytes)),
            Text(CLASS_WORDS[buffer.class_]),
            Text(f"{buffer.instruction or '-'}{buffer.index}", style="bold"),
            Text(_line(buffer)),
        )
        for buffer in peak.largest[:_MOST_BUFFERS]
    ]
    console.print(table_of(("bytes", "what", "instruction", "line"), rows, console.width))
    left_out = peak.buffers - min(_MOST_BUFFERS, len(peak.largest))
    if left_out > 0:
        console.print(indented(Text(f"and {left_out:,} more buffers", style="dim"), 4))
    _print_sharing(memory, console)


def _line(buffer: LiveBuffer) -> str:
    if buffer.source is None:
        return "-"
    inferred = buffer.source_how not in (None, "stated", "earlier_text", "loop_body")
    return place_text(buffer.source) + (" (inferred)" if inferred else "")


def _print_sharing(memory: Memory, console: Console) -> None:
    """Asynchronous operations that do not have their operand for themselves."""
    overwritten = [each for each in memory.async_buffers if each.overwritten_by]
    for each in overwritten[:_MOST_OPERATIONS]:
        writers = cut_list(each.overwritten_by, _MOST_OPERATIONS)
        text = f"{each.start}: its operand is overwritten before {each.done} by {writers}"
        console.print(indented(Text(text, style="bold", overflow="fold")))
    in_place = [each.start for each in memory.async_buffers if each.in_place]
    if in_place:
        names = cut_list(in_place, _MOST_OPERATIONS)
        words = counted(len(in_place), "asynchronous operation")
        verb = "puts its result" if len(in_place) == 1 else "put their results"
        console.print(indented(Text(f"{words} {verb} over the operand: {names}")))

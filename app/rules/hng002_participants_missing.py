"""Participants of a collective wait for others that do not come.

## What it finds
Warnings and time-outs of a rendezvous, of Gloo, and of barriers between processes.

## Why it matters
The line names a rendezvous; the collective behind it, and its line, stand in the dump.

## How we know
The log states it. The channel or the list of devices in the line is compared with the collectives
of the newest text. Whether a branch may keep devices away is HNG001's to say.

## What to do
See that each process runs the same program and reaches the collective; look at the stacks of those
that wait and of those that do not; look for an earlier failure in the log of a missing process.

## Limits
The number in the line counts operations at run time in some releases and is the channel in others.
A slow start-up looks the same until the line is taken back.

## Sources
xla/service/rendezvous.cc; jax-ml/jax#22740, openxla/xla#44530, openxla/xla#22588.
"""

import re

from app.analysis.printed import rendezvous_in
from app.analysis.suspects import collectives
from app.model.facts import Diagnosis, Facts
from app.rules.cited import Named, cited
from app.rules.standing import standing_of
from app.rules.telling import Story, Try, class_rule

_MOST = 5
# xla/backends/cpu/collectives/gloo_communicator.cc
_GLOO = re.compile(r"Gloo (?P<opcode>[a-z]+(?:-[a-z]+)*) failed")


def _collectives(facts: Facts, diagnosis: Diagnosis) -> tuple[Named, ...]:
    """Those with the channel or the devices of the line, in all modules of the program."""
    channel, devices = rendezvous_in(diagnosis.text)
    failed = _GLOO.search(diagnosis.text)
    if channel is None and not devices and failed is None:
        return ()
    found: list[Named] = []
    for history in (h for h in facts.modules if h.role == "user"):
        found += (
            cited(facts, history, history.last, computation, instruction, role="may be waiting")
            for computation, instruction in collectives(history.last.module, channel, devices)
            if failed is None or instruction.opcode.removesuffix("-start") == failed["opcode"]
        )
    return tuple(found[:_MOST])


def _where_it_stood(facts: Facts, _: tuple[Named, ...]) -> tuple[str, ...]:
    standing = standing_of(facts)
    return (standing.words,) if standing else ()


STORIES = {
    "": Story(
        title="Participants of a collective wait for others",
        what="Not all devices of the group arrived: some did not start the program, died before, "
        "or went another way.",
        tries=(
            Try(
                "Compare the logs and dumps of all processes: the one that is missing, or that "
                "runs another program, is at fault."
            ),
            Try("Get the stacks of all processes while they hang (py-spy dump --native)."),
            Try(
                "If start-up is just slow, wait longer.",
                "--xla_gpu_first_collective_call_terminate_timeout_seconds=600",
            ),
        ),
        refs=("jax-ml/jax#22740", "openxla/xla#44530", "openxla/xla#22588", "jax-ml/jax#11637"),
        unknown=("which devices did not come, and why",),
        suspects=_collectives,
        adds=_where_it_stood,
    ),
}

RULE = class_rule(
    code="HNG002",
    slug="participants-missing",
    title="Participants of a collective wait for others",
    class_="hang-rendezvous",
    sources=(
        "xla/service/rendezvous.cc",
        "jax-ml/jax#22740",
        "openxla/xla#44530",
        "openxla/xla#22588",
    ),
    stories=STORIES,
)

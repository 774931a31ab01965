"""What is still wanted of a run whose log alone was given, in words."""

from app.model.facts import Facts

# The standard output, and what a flag has that is given without a value.
_NO_FOLDER = frozenset({"", "-", "true"})


def dump_of_a_hang(facts: Facts) -> str:
    """What to do for the dump of a run that hung."""
    if written := _dump_written(facts):
        return f"Add the dump that the run wrote to {written}."
    return (
        "Rerun with --xla_dump_to=DIR --xla_dump_hlo_pass_re=.*, or under hloscope run --timeout "
        "SECONDS, and add the dump."
    )


def module_wanted(facts: Facts, what: str = "the module") -> str:
    """Asks for the dump: for the one that the run wrote, where it was told to write one."""
    if written := _dump_written(facts):
        return f"{what}: add the dump that the run wrote to {written}"
    return f"{what}: rerun with --xla_dump_to=DIR --xla_dump_hlo_pass_re=.* and add the dump"


def _dump_written(facts: Facts) -> str:
    """The folder that the run was told to write to; "" for none, or for the standard output."""
    told = (flags.get("xla_dump_to", "") for flags in (facts.environment.flags, facts.log.flags))
    return next((value for value in told if value not in _NO_FOLDER), "")

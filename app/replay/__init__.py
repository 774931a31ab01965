"""Recompiling a dump's module under other flags and releases, with no GPU.

`toolchains` keeps an environment per jaxlib release, `subject` says what of a dump is compiled,
`compiling` compiles it once in a process of its own and names the outcome, `reading` does so from a
text that the release reads (`older`), `experiments` many times, in parallel and never twice.
`sameness` says which failures are one and how sure that is, `reference` which one is looked for,
`silent` tells crashes without words apart. `bisecting` asks which flags and passes a failure takes,
`releases` where it came and went, `proving` holds a report's workarounds against it, and
`reduction` makes a small module that fails so, by the cuts of `edits`, `structure` and `sizes` on a
`draft`. `session` is the door to all of them. What a recompile cannot show is told in
docs/replay.md.
"""

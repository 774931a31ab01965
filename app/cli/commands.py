"""The commands by name, each with its line of `hloscope --help`, which needs nothing imported.

What a command does stands in the module of its name in this folder.
"""

from collections.abc import Mapping

COMMANDS: Mapping[str, str] = {
    "analyze": "explain a dump and the log of the failed run",
    "run": "run a program with XLA's dump on, and explain how it failed",
    "parse": "read modules, text or proto, and say what they hold",
    "diff": "compare two modules, text or proto",
    "compare": "compare two dumps, or the ranks of one run",
    "policy": "hold a dump against a policy, for CI",
    "replay": "compile a dump's module again, with no GPU, and bisect its failure",
    "serve": "run the web app",
    "admin": "look after the store of a server",
    "worker": "work at the jobs of a server, here or elsewhere",
    "upload": "send a dump to a server",
    "rules": "list the rules",
    "explain": "the page of one rule",
}

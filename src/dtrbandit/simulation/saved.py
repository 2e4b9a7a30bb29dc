"""Save and load a study: a Parquet file per policy, then a manifest with their names and checksums."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError
from dtrbandit.record.durable import beside, settle
from dtrbandit.simulation.manifest import Manifest
from dtrbandit.simulation.study import Study

MANIFEST = "manifest.json"
TABLE = re.compile(r"policy-\d+-[0-9a-f]{12}\.parquet")
REMEDY = "restore the whole folder from a copy, or run the study again in another folder"


class SavedManifest(NamedTuple):
    """What the manifest on disk says: the study, its paths, and the file and checksum of each policy."""

    manifest: Manifest
    paths: tuple[int, ...]
    files: Mapping[str, str]
    checksums: Mapping[str, str]


def as_folder(place: object) -> Path:
    """Return the place of a folder, or refuse what cannot be one."""
    if not isinstance(place, str | Path) or "\0" in str(place):
        raise DesignError(f"a study is kept in a folder, called by a text or a Path; found {shown(place)}")
    return Path(place)


def made_folder(folder: Path) -> Path:
    """Make a folder for a study unless it is there, or say why it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise DesignError(f"{folder} is a file, and a study needs a folder; give another name") from error
    except OSError as error:
        raise DesignError(f"the folder {folder} cannot be made: {error.strerror}; give another one") from error
    return folder


def save_study(study: Study, folder: Path) -> None:
    """Write a study. A reader meanwhile, or after a crash, finds either the old study or the new one, whole."""
    made_folder(folder)
    try:
        _save(study, folder)
    except OSError as error:
        raise DesignError(
            f"the study cannot be saved in {folder}: {error.strerror or error}; give a folder that can be written, "
            "with room on its disk"
        ) from error


def _save(study: Study, folder: Path) -> None:
    before = _files(folder, study)
    checksums = {name: _save_table(study, name, number, folder) for number, name in enumerate(study.policies, 1)}
    files = {name: _file(number, checksums[name]) for number, name in enumerate(study.policies, 1)}
    known = {key: entry for key, entry in asdict(study.manifest).items() if key != "prior" or entry is not None}
    entries = {**known, "paths": list(study.paths), "files": files, "checksums": checksums}
    text = json.dumps({**entries, "checksum": _checksum_of(entries)}, indent=2, ensure_ascii=False) + "\n"
    with beside(folder / MANIFEST) as new:
        new.write_text(text, encoding="utf-8")
        settle(new, folder / MANIFEST)
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
    folder = as_folder(folder)
    saved = _read_manifest(folder)
    try:
        return _read_tables(folder, saved)
    except DesignError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:  # pyarrow's own are ValueError and OSError
        raise DesignError(
            f"{folder} is damaged, its {MANIFEST} says what it does not hold: {error}; {REMEDY}"
        ) from error


def _read_tables(folder: Path, saved: SavedManifest) -> Study:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    manifest, paths = saved.manifest, saved.paths
    shape, stages = (len(paths), manifest.horizon), manifest.stages
    arms, outcomes, regret, oracle = {}, {}, {}, None
    for name in manifest.policies:
        table = parquet.read_table(pa.BufferReader(_whole(folder / saved.files[name], saved.checksums[name])))
        columns = {column: table[column].to_numpy().reshape(shape) for column in table.column_names}
        arms[name] = np.stack([columns[f"arm {stage}"] for stage in stages], axis=2)
        outcomes[name] = columns["reward"]
        if "oracle" in columns:
            regret[name] = np.stack([columns[f"regret {stage}"] for stage in stages], axis=2)
            oracle = columns["oracle"]
    return Study(manifest, paths, arms, outcomes, regret or None, oracle)


def _whole(file: Path, checksum: str) -> bytes:
    """Return what a file holds, or refuse it if its checksum is another."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise DesignError(f"{file} is damaged: it cannot be read ({error.strerror}); {REMEDY}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != checksum:
        raise DesignError(
            f"{file} is damaged, or a file of another study: its SHA-256 is {found}, "
            f"and {MANIFEST} expects {checksum}; {REMEDY}"
        )
    return content


def _read_manifest(folder: Path) -> SavedManifest:
    place = folder / MANIFEST
    try:
        entries = json.loads(place.read_bytes().decode("utf-8"))
        if "checksum" not in entries:
            raise ValueError("it has no checksum, as before release 0.1.0")
        if (checksum := entries.pop("checksum")) != _checksum_of(entries):
            raise ValueError(f"its own checksum is {shown(checksum)}, its content has another")
        paths, files, checksums = tuple(entries.pop("paths")), dict(entries.pop("files")), entries.pop("checksums")
        if strange := [file for file in files.values() if not TABLE.fullmatch(str(file))]:
            raise ValueError(f"{strange[0]!r} is no file of a study")  # which could lie anywhere, and saving removes it
        return SavedManifest(Manifest(**entries), paths, files, dict(checksums))
    except FileNotFoundError as error:
        raise DesignError(f"there is no study in {folder}: {MANIFEST} is missing") from error
    except OSError as error:  # the folder is a file, or may not be read
        raise DesignError(f"there is no study in {folder} that can be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DesignError(f"{place} is damaged, it does not describe a study: {error}; {REMEDY}") from error


def _checksum_of(entries: Mapping[str, object]) -> str:
    """Return the checksum of a manifest's content. Layout does not matter to it; the order of policies does."""
    return hashlib.sha256(json.dumps(entries, separators=(",", ":")).encode()).hexdigest()


def _files(folder: Path, study: Study) -> set[str]:
    """Return the files of the study that the folder holds, or refuse if that must not be replaced."""
    if not (folder / MANIFEST).exists():
        return set()
    saved = _read_manifest(folder)
    paths = saved.paths
    if difference := saved.manifest.difference(study.manifest):
        raise DesignError(f"{folder} holds another study: {difference}; save into another folder")
    if more := set(paths) - set(study.paths):
        raise DesignError(
            f"{folder} holds {len(paths)} paths of this study, among them {min(more)}, which this one has not; "
            "simulate(..., resume=load_study(folder)) first, or save into another folder"
        )
    return set(saved.files.values())


def _save_table(study: Study, name: str, number: int, folder: Path) -> str:
    """Write what a policy did, in a file named after its checksum, and return the checksum."""
    with beside(folder / f"policy-{number}") as new:
        _write_table(study, name, new)
        with new.open("rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
        settle(new, folder / _file(number, checksum))
    return checksum


def _file(number: int, checksum: str) -> str:
    return f"policy-{number}-{checksum[:12]}.parquet"


def _write_table(study: Study, name: str, file: Path) -> None:
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
    parquet.write_table(pa.table({column: pa.array(values) for column, values in columns.items()}), file)

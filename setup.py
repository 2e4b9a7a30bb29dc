"""Build dtrbandit: Cython compiles every module that has a ``.pxd`` file beside it.

``DTRBANDIT_PLAIN=1`` compiles nothing: the same results, much slower. ``DTRBANDIT_CHECK=1`` compiles with bounds
checks, for tests. All that is generated goes to ``build/``, in a folder for each Python and each of these ways.
"""

import contextlib
import hashlib
import os
import re
import runpy
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import CompileError, PlatformError

SOURCE = Path("src")
PACKAGE = SOURCE / "dtrbandit"
BUILD = runpy.run_path(str(PACKAGE / "build.py"))
PLAIN = os.environ.get("DTRBANDIT_PLAIN") == "1"
CHECKED = os.environ.get("DTRBANDIT_CHECK") == "1"
WAY = "-plain" if PLAIN else "-checked" if CHECKED else ""
FOLDER = Path("build", f"cp{sys.version_info.major}{sys.version_info.minor}{sys.abiflags}{WAY}")
JOBS = min(4, os.cpu_count() or 1)

SHARED = "dtrbandit._cython_shared"  # what all compiled modules need of Cython, once
DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": False,  # types are those of the .pxd
    "infer_types": True,
    "boundscheck": CHECKED,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "auto_pickle": False,  # a state says itself how it is copied and pickled
    "autotestdict": False,
    "show_performance_hints": False,
}
# The same bits everywhere: no rounding is left out. Without errno a square root is one instruction. Warnings (-w)
# would be about C that nobody wrote.
FLAGS = ["-O3", "-g0", "-w", "-fno-fast-math", "-ffp-contract=off", "-fno-math-errno"]
NO_COMPILER = """
dtrbandit needs a C compiler and the headers of Python to be built, and could not compile an empty module.
Install them (on Debian and Ubuntu: apt install gcc python3-dev), and try again.
Or do without: DTRBANDIT_PLAIN=1 pip install .   (or DTRBANDIT_PLAIN=1 make demo)
The results are the same; a session takes some three times as long, a study some 150 times.
"""


class BuildModules(build_py):
    """Copy the sources, leave nothing of an earlier build among them, and list the kernels."""

    def run(self):
        """Remove what an earlier build has left, except for compiled modules that are still wanted."""
        compiled = {Path(output) for output in self.get_finalized_command("build_ext").get_outputs()}
        for path in Path(self.build_lib).rglob("*"):
            if path.is_file() and path not in compiled:
                path.unlink()
        super().run()
        Path(self.list_of_kernels()).write_text(BUILD["list_of"](carried()), encoding="utf-8")

    def get_outputs(self, include_bytecode=True):
        """Return the files that are made, the list among them."""
        return [*super().get_outputs(include_bytecode), self.list_of_kernels()]

    def list_of_kernels(self):
        """Return where the list of kernels goes."""
        return str(Path(self.build_lib, "dtrbandit", BUILD["LIST"]))


class BuildKernels(build_ext):
    """Translate the kernels to C, and compile them."""

    def build_extensions(self):
        """Compile what has changed since the last build in the same folder, or everything if its recipe has."""
        self.require_compiler()
        recipe = FOLDER / "recipe"
        self.force = self.force or not recipe.exists() or recipe.read_text() != recipe_of_this_build()
        copy_sources(FOLDER / "source")
        translated = translate(self.extensions, force=self.force)
        for extension in self.extensions:
            extension.sources = translated[extension.name]
            extension.depends = [written_if_changed(FOLDER / "macros" / extension.name, repr(extension.define_macros))]
        super().build_extensions()
        recipe.write_text(recipe_of_this_build())

    def require_compiler(self):
        """Stop in words where not even an empty module can be compiled."""
        with tempfile.TemporaryDirectory() as folder:
            empty = Path(folder, "empty.c")
            empty.write_text("#include <Python.h>\n")
            try:
                self.compiler.compile([str(empty)], output_dir=folder)
            except (CompileError, PlatformError) as error:
                raise SystemExit(f"{error}\n{NO_COMPILER}") from None


def recipe_of_this_build():
    """Return what a build depends on, beside the sources."""
    import Cython

    ours = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    return "\n".join([ours, Cython.__version__, sys.version, os.environ.get("CC", ""), os.environ.get("CFLAGS", "")])


def copy_sources(folder):
    """Bring a copy of what Cython reads up to date; files that did not change keep their times.

    A method that is ``noexcept`` would swallow what a bounds check finds, so that the checked build has none.
    """
    texts = {path: path.read_text(encoding="utf-8") for path in BUILD["kernel_modules"](PACKAGE).values()}
    for path in PACKAGE.rglob("*.pxd"):
        text = path.read_text(encoding="utf-8")
        texts[path] = re.sub(r"\bnoexcept\b", "", text) if CHECKED else text
    wanted = {folder / path.relative_to(SOURCE): text for path, text in texts.items()}
    wanted |= {path.with_name("__init__.py"): "" for path in wanted} | {folder / "dtrbandit/__init__.py": ""}
    for path in folder.rglob("*.p*"):
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        written_if_changed(path, text)


def written_if_changed(path, text):
    """Write a file unless it holds this text already, and return its path. So its time says when that changed."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return str(path)


def carried():
    """Return what each kernel carries: the digest of its sources, and nothing where none is compiled."""
    suffix = BUILD["CHECKED_SUFFIX"] if CHECKED else ""
    modules = BUILD["kernel_modules"](PACKAGE)
    return {name: "" if PLAIN else BUILD["digest_of"](source, PACKAGE) + suffix for name, source in modules.items()}


def kernels():
    """Return the modules to compile, each with what it carries, and what they share."""
    modules = [
        Extension(
            name,
            [str(BUILD["path_of"](name, PACKAGE))],
            extra_compile_args=FLAGS,
            define_macros=[("DTR_BUILT_FROM", f'"{digest}"')],
        )
        for name, digest in carried().items()
    ]
    return [*modules, Extension(SHARED, [], extra_compile_args=["-O1", "-g0", "-w"])] if modules else []


def translate(extensions, *, force):
    """Return the C files of each module, made anew where its sources have changed.

    Cython runs in the folder of the copies. So a traceback names ``dtrbandit/kernels/…``, which Python finds where the
    package is installed.
    """
    from Cython.Build import cythonize

    wanted = [Extension(each.name, [os.path.relpath(source, SOURCE) for source in each.sources]) for each in extensions]
    with contextlib.chdir(FOLDER / "source"):
        made = cythonize(
            wanted,
            nthreads=JOBS,
            force=force,
            include_path=["."],
            build_dir="../c",
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=SHARED,
        )
    return {each.name: [os.path.normpath(FOLDER / "source" / source) for source in each.sources] for each in made}


FOLDER.mkdir(parents=True, exist_ok=True)
setup(
    ext_modules=[] if PLAIN else kernels(),
    cmdclass={"build_ext": BuildKernels, "build_py": BuildModules},
    options={
        "build": {"build_base": str(FOLDER)},
        "build_ext": {"parallel": JOBS},
        "egg_info": {"egg_base": str(FOLDER)},
    },
)

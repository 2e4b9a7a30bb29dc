"""Compile the modules that have a .pxd."""
import os
from pathlib import Path
from setuptools import Extension, setup

SOURCE = Path("src")
DIRECTIVES = {"language_level": 3, "infer_types": True, "annotation_typing": False, "boundscheck": os.environ.get("DTRBANDIT_CHECK") == "1",
    "wraparound": False, "cdivision": True, "initializedcheck": False}
def extensions():
    from Cython.Build import cythonize
    modules = []
    for pxd in sorted(SOURCE.rglob("*.pxd")):
        if pxd.stem in ("constants", "__init__"):
            continue
        name = ".".join(pxd.relative_to(SOURCE).with_suffix("").parts)
        modules.append(Extension(name, [str(pxd.with_suffix(".py"))], extra_compile_args=["-O3", "-g0", "-ffp-contract=off"], define_macros=[("DTR_BUILT_FROM", '"dev"')]))
    return cythonize(modules, compiler_directives=DIRECTIVES, include_path=["src"], nthreads=2, build_dir="build/cython")
setup(name="dtrbandit", packages=[], package_dir={"": "src"}, ext_modules=extensions())

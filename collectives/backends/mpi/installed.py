"""Which MPI this host has: the library that mpi4py would load, and the mpiexec that belongs to it. Loads neither.

mpiexec and library must be of one installation, or every rank becomes a world of its own.
May import: the standard library.
"""

from __future__ import annotations

import os
import shutil
import site
import sys
from collections.abc import Iterator, Mapping
from ctypes.util import find_library
from importlib.util import find_spec
from pathlib import Path

MPIEXEC = "OPSDIST_MPIEXEC"
"""The variable that names the mpiexec to use; ranks find the one that started them in it."""
_SONAMES = {"libmpi.so.12": "mpich", "libmpi.so.40": "openmpi", "libmpi_abi.so.1": "mpich"}
"""What mpi4py's wheels load -> whose it is, in the word that Debian appends to names of commands."""
_INSTALL = "pip install 'opsdist[mpi]' beside an MPI of this host, or 'opsdist[mpi-local]', which brings one"


def unavailable(environ: Mapping[str, str] = os.environ, prefix: str = sys.prefix) -> str | None:
    """Why MPI cannot be used here and what to do, as "reason; remedy", or None. Starts and loads nothing."""
    spec = find_spec("mpi4py")
    if spec is None or spec.origin is None:
        return f"mpi4py is not installed; {_INSTALL}"
    # Built from source, it knows its library itself.
    wheel = Path(spec.origin).with_name("_mpiabi.py").exists()
    library = library_path(environ, prefix)
    if library is not None and not library.exists():
        return f"MPI4PY_LIBMPI={library} is no file; correct it, or unset it"
    if wheel and library is None and not any(find_library(name) for name in ("mpi", "mpi_abi")):
        return (
            f"no MPI library is found ({', '.join(_SONAMES)}); install one (pip install mpich, apt-get install "
            "openmpi-bin), or name it with MPI4PY_LIBMPI=/path/of/libmpi.so"
        )
    if given := environ.get(MPIEXEC):
        return None if shutil.which(given) else f"{MPIEXEC}={given} is no program; correct it, or unset it"
    if mpiexec_path(environ, prefix) is None:
        beside = f" beside {library}" if library else ""
        return f"no mpiexec is found{beside} or in PATH; install the one of that MPI, or name it with {MPIEXEC}"
    return None


def library_path(environ: Mapping[str, str] = os.environ, prefix: str = sys.prefix) -> Path | None:
    """The library, where it lies in a folder that mpi4py looks into by name; None where only the loader knows."""
    if given := environ.get("MPI4PY_LIBMPI"):
        return Path(given)
    sonames = sorted(_SONAMES, key=lambda name: _SONAMES[name] != environ.get("MPI4PY_MPIABI"))
    for folder in _folders(environ, prefix):
        for name in sonames:
            if (folder / name).exists():
                return folder / name
    return None


def _folders(environ: Mapping[str, str], prefix: str) -> Iterator[Path]:
    """In the order of mpi4py's finder, which looks into the environment of Python first."""
    yield Path(prefix, "lib")
    yield Path(site.getuserbase(), "lib")
    yield from (Path(folder) for folder in environ.get("LD_LIBRARY_PATH", "").split(":") if folder)


def mpiexec_path(environ: Mapping[str, str] = os.environ, prefix: str = sys.prefix) -> str | None:
    """The named one, else the one that was installed with the library, else that of this Python, else of PATH."""
    if given := environ.get(MPIEXEC):
        return shutil.which(given)
    if library := library_path(environ, prefix):
        kind = next((kind for soname, kind in _SONAMES.items() if library.name.startswith(soname)), "")
        # lib, lib/x86_64-linux-gnu and lib/x86_64-linux-gnu/openmpi/lib all belong to the bin above them.
        for folder in list(library.absolute().parents)[1:5]:
            for name in (f"mpiexec.{kind}", "mpiexec"):
                if found := shutil.which(name, path=str(folder / "bin")):
                    return found
    own = shutil.which("mpiexec", path=str(Path(prefix, "bin")))
    return own or shutil.which("mpiexec", path=environ.get("PATH"))

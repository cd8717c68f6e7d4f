# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyCommmodel(PythonPackage):
    """Measure a machine's MPI communication, model it in a few numbers, and use the
    model to predict, optimise, simulate and guard parallel programs."""

    homepage = "https://pypi.org/project/commmodel/"
    pypi = "commmodel/commmodel-1.0.0.tar.gz"

    maintainers("MAINTAINER")

    license("BSD-3-Clause")

    version("1.0.0", sha256="0000000000000000000000000000000000000000000000000000000000000000")

    variant("report", default=True, description="HTML pages: reports and Gantt charts")

    requires("platform=linux", msg="programs are recorded and simulated by means of Linux alone")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("python@3.11:", type=("build", "link", "run"))
    depends_on("py-setuptools@77:", type="build")
    depends_on("py-cython@3.2:", type="build")
    depends_on("mpi")
    depends_on("py-mpi4py@4.1:4", type=("build", "run"))
    depends_on("py-msgspec@0.19:", type=("build", "run"))
    depends_on("py-numba@0.61:", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    depends_on("py-scipy@1.11:", type=("build", "run"))
    depends_on("py-tomlkit@0.13:", type=("build", "run"))
    depends_on("py-cloudpickle@3:", type=("build", "run"))
    with when("+report"):
        depends_on("py-jinja2@3.1:", type=("build", "run"))
        depends_on("py-matplotlib@3.8:", type=("build", "run"))

    def setup_build_environment(self, env: EnvironmentModifications) -> None:
        env.set("MPICC", self.spec["mpi"].mpicc)

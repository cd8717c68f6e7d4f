-- Module file for Lmod and Environment Modules 5: as commmodel/1.0.0.lua in a folder of modules, beside a virtual
-- environment made with: python3 -m venv /apps/commmodel/1.0.0; /apps/commmodel/1.0.0/bin/pip install 'commmodel[report]'
local root = "/apps/commmodel/1.0.0"

help([[Measures a machine's MPI communication, models it in a few numbers and uses the model.
Load an MPI library first; then: srun -n 2 python -m commmodel.bench]])
whatis("Name: commmodel")
whatis("Version: 1.0.0")
whatis("Description: measure, model, predict and simulate the communication of MPI programs")
family("commmodel")

prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))

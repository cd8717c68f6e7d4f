"""Complete the recipes of package managers for a release: `make recipes`.

    python packaging/recipes.py SOURCES FOLDER MAINTAINER...

SOURCES is the source distribution of the release, whose checksum the recipes need and which therefore does not contain
them; MAINTAINER is the account of somebody who looks after the package there. FOLDER gets the recipes, complete.
"""

import hashlib
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECIPES = ("spack/package.py", "easybuild/*.eb", "conda/recipe.yaml")
CHECKSUM = "0" * 64
MAINTAINER = "MAINTAINER"


def complete(recipe: str, checksum: str, maintainers: list[str]) -> str:
    """Return a recipe with the checksum and the maintainers, each of these written as the one that stands for all."""
    recipe = recipe.replace(CHECKSUM, checksum)
    line = re.compile(rf"^(\s*- ){MAINTAINER}$", re.MULTILINE)  # one to a line in YAML
    recipe = line.sub(lambda match: "\n".join(match[1] + name for name in maintainers), recipe)
    return recipe.replace(f'"{MAINTAINER}"', ", ".join(f'"{name}"' for name in maintainers))


def main() -> None:
    """Write the recipes."""
    if len(sys.argv) < 4:
        raise SystemExit(
            "usage: python packaging/recipes.py SOURCES FOLDER MAINTAINER...; or make recipes MAINTAINERS='NAME NAME'"
        )
    sources, folder, maintainers = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    checksum = hashlib.sha256(sources.read_bytes()).hexdigest()
    for pattern in RECIPES:
        (path,) = HERE.glob(pattern)
        target = folder / path.relative_to(HERE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(complete(path.read_text("utf-8"), checksum, maintainers), encoding="utf-8")
        print(target)


if __name__ == "__main__":
    main()

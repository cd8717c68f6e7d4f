"""The steps of action.yml and of GitLab's template, run here in their order, with a stub of pip and of gh."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.paths import ROOT

yaml = pytest.importorskip("yaml")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
TEMPLATE = yaml.safe_load((ROOT / "packaging/gitlab/commmodel.gitlab-ci.yml").read_text())["commmodel-guard"]
RULES = '[[program]]\nname = "app"\ncommand = "python app.py"\nprocesses = [2]\n'
PROGRAM = "from mpi4py import MPI\nfor step in range({}):\n    MPI.COMM_WORLD.Barrier()\n"
PYTHON = f"""#!/bin/sh
if [ "$2" = pip ]; then echo "$*" >> "$CALLS"; exit 0; fi
exec {shlex.quote(sys.executable)} "$@"
"""
GH = """#!/bin/sh
echo "gh $*" >> "$CALLS"
case "$*" in *--paginate*) echo "$EARLIER" ;; *body=@*) cat "${*##*body=@}" >> "$CALLS" ;; esac
"""


def git(folder, *words):
    head = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    return subprocess.run([*head, *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def runner(tmp_path):
    """Return the environment of a runner whose repository has a base, and a commit that sends more."""
    (tmp_path / "bin").mkdir()
    for name, text in (("python", PYTHON), ("gh", GH)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init", "--quiet")
    (project / "guard.toml").write_text(RULES)
    commits = []
    for steps in (1, 3):
        (project / "app.py").write_text(PROGRAM.format(steps))
        git(project, "add", ".")
        git(project, "commit", "--quiet", "-m", "a commit")
        commits.append(git(project, "rev-parse", "HEAD"))
    files = {name: str(tmp_path / name.lower()) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "CALLS")}
    paths = os.pathsep.join([str(tmp_path / "bin"), os.path.dirname(sys.executable), os.environ["PATH"]])
    return dict(os.environ) | files | {
        "PATH": paths, "RUNNER_TEMP": str(tmp_path / "temp"), "GITHUB_REPOSITORY": "ada/solver", "EARLIER": "",
        "GITHUB_ACTION_PATH": str(ROOT), "PROJECT": str(project), "BASE": commits[0], "COMMIT": commits[1],
    }  # fmt: skip


def words_of(step, runner):
    """Return the variables of a step, as GitHub would fill them in."""
    outputs = dict(line.split("=", 1) for line in read(runner, "GITHUB_OUTPUT").splitlines())
    values = {
        "github.event.pull_request.base.sha": runner["BASE"], "github.event.pull_request.number": "7",
        "github.event.pull_request.head.sha || github.sha": runner["COMMIT"],
        "steps.guard.outputs.code": outputs.get("code", ""),
        **{f"inputs.{name}": entry.get("default", "") for name, entry in ACTION["inputs"].items()},
    }  # fmt: skip
    return {name: re.sub(r"\$\{\{ (.*?) \}\}", lambda word: values[word[1]], value)
            for name, value in step.get("env", {}).items()}  # fmt: skip


def read(runner, name):
    path = Path(runner[name])
    return path.read_text() if path.exists() else ""


def carry_out(name, runner):
    step = STEPS[name]
    shell = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
    words = runner | words_of(step, runner)
    return subprocess.run(shell, env=words, cwd=runner["PROJECT"], capture_output=True, text=True, check=False)


@pytest.mark.mpi
@pytest.mark.simulated
def test_a_pull_request_that_sends_more_gets_a_comment_and_fails(runner):
    for name in ("Install", "Check out the base", "Guard", "Comment"):
        done = carry_out(name, runner)
        assert done.returncode == 0, f"{name}: {done.stderr}"
    calls, summary = read(runner, "CALLS"), read(runner, "GITHUB_STEP_SUMMARY")
    assert f"-m pip install --quiet {ROOT}[mpich,report]\n" in calls  # the checkout that has this action
    assert "--method POST repos/ada/solver/issues/7/comments" in calls
    assert summary.startswith("<!-- commmodel guard -->")
    assert "app.py:3" in summary
    assert summary in calls  # the comment's text
    assert read(runner, "GITHUB_OUTPUT") == "code=1\n"
    assert {*os.listdir(os.path.join(runner["RUNNER_TEMP"], "commmodel-guard"))} == {
        "comment.md", "guard.xml", "guard.svg", "history.html",
    }  # fmt: skip
    runner["EARLIER"] = "99"
    assert carry_out("Comment", runner).returncode == 0
    assert "--method PATCH repos/ada/solver/issues/comments/99" in read(runner, "CALLS")
    assert carry_out("Verdict", runner).returncode == 1


@pytest.mark.parametrize(
    "words",
    [
        ("vendor.github-actions", ROOT / "action.yml"),
        ("vendor.gitlab-ci", "--data-transform", "gitlab-ci", ROOT / "packaging/gitlab/commmodel.gitlab-ci.yml"),
    ],
)
def test_files_keep_the_schemas_of_their_services(words):
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_each_step_that_runs_is_named_and_has_a_shell():
    assert [name for name, step in STEPS.items() if "run" in step] == [
        "Install", "Check out the base", "Guard", "Comment", "Verdict",
    ]  # fmt: skip
    assert all(step["shell"] == "bash" for step in STEPS.values() if "run" in step)


def test_no_step_puts_a_value_into_its_script_and_other_actions_are_pinned():
    for step in STEPS.values():
        assert "${{" not in step.get("run", "")
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step.get("uses", "a/b@" + 40 * "0"))


def test_a_package_that_is_named_is_installed_instead(runner):
    words = runner | {"PACKAGE": "commmodel[mpich]==1.0.0"}
    subprocess.run(["bash", "-e", "-c", STEPS["Install"]["run"]], env=words, check=True)
    assert read(runner, "CALLS") == "-m pip install --quiet commmodel[mpich]==1.0.0\n"


def test_the_extras_that_are_installed_are_there():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {"mpich", "report"} <= {*extras}


def test_a_fork_gets_no_comment():
    assert "head.repo.full_name == github.repository" in STEPS["Comment"]["if"]
    assert all("GH_TOKEN" not in step.get("env", {}) for name, step in STEPS.items() if name != "Comment")


@pytest.mark.mpi
@pytest.mark.simulated
def test_a_merge_request_that_sends_more_fails(runner):
    script = "\n".join(TEMPLATE["script"])
    git(runner["PROJECT"], "remote", "add", "origin", runner["PROJECT"])
    words = runner | TEMPLATE["variables"] | {"CI_MERGE_REQUEST_DIFF_BASE_SHA": runner["BASE"]}
    done = subprocess.run(
        ["bash", "-e", "-c", script], env=words, cwd=runner["PROJECT"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "app.py:3" in done.stdout
    assert os.path.exists(os.path.join(runner["PROJECT"], TEMPLATE["artifacts"]["reports"]["junit"]))

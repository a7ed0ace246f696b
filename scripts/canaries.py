"""Plant faults that the tests must find.

    python scripts/canaries.py              every patch of tests/canaries
    python scripts/canaries.py lost_wake_up these
    python scripts/canaries.py --next       one of them, by the number of commits: what CI runs

Each patch is applied to a copy of the project; its first lines say which test has to fail, on a line
`caught by: cargo test …` or `caught by: pytest …`: a general law, that was not made for this fault. Building does not
count; the test has sixty seconds.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import turns

ROOT = Path(__file__).resolve().parents[1]
PATCHES = ROOT / "tests" / "canaries"
LIMIT_SECONDS = 60
#: Laws go by these: a canary is caught by what a law does of itself.
STEERING = {"TICKFRAME_SEED", "TICKFRAME_SEEDS", "TICKFRAME_STEPS", "TICKFRAME_TAPE", "TICKFRAME_SCHEDULES"}
#: The extension as `make develop` builds it, and where Python finds it in the copy.
EXTENSION = ["cargo", "build", "--locked", "--profile", "ci", "-p", "tickframe-native"]
EXTENSION += ["--features", "extension-module,testing", "--lib"]
LIBRARY = "lib_native.dylib" if sys.platform == "darwin" else "lib_native.so"
IMPORTED = Path("python") / "tickframe" / "_native.abi3.so"


def target() -> Path:
    """Where the copy and what is compiled of it live."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute() / "canaries"


def project_files() -> list[Path]:
    """What git knows or would take in."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    return [Path(name) for name in listing.decode().split("\0") if name and (ROOT / name).is_file()]


def copy_project(copy: Path) -> None:
    """Make the copy equal to the project; a file that is equal already keeps its time, so that cargo passes it by."""
    wanted = set(project_files())
    for file in wanted:
        source, goal = ROOT / file, copy / file
        if not goal.is_file() or goal.read_bytes() != source.read_bytes():
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, goal)
    for goal in [path for path in copy.rglob("*") if path.is_file()]:
        if goal.relative_to(copy) not in wanted:
            goal.unlink()


def share_dependencies(own: Path) -> None:
    """Start with what the project's own tests have compiled of others, so that no crate is compiled twice."""
    compiled = own.parent.parent / "ci"
    if (own / "ci").exists() or not compiled.exists():
        return
    for folder in ("build", "deps", ".fingerprint"):
        ours = shutil.ignore_patterns("tickframe*", "libtickframe*", "tests-*", "engine-*", "libengine*")
        shutil.copytree(compiled / folder, own / "ci" / folder, ignore=ours, copy_function=shutil.copy2)


def caught_by(patch: Path) -> list[str]:
    """The command of the test that has to fail."""
    for line in patch.read_text(encoding="utf-8").splitlines():
        if line.startswith("caught by: "):
            return shlex.split(line.removeprefix("caught by: "))
    raise SystemExit(f"{patch.name} does not say what catches it")


def python() -> str:
    """The interpreter that has pytest."""
    environment = os.environ.get("TICKFRAME_VENV") or os.environ.get("VIRTUAL_ENV")
    return str(Path(environment) / "bin" / "python") if environment else sys.executable


def limited(command: list[str], copy: Path, environment: dict[str, str]) -> tuple[int, bytes] | None:
    """Exit code and output of a test; none if it took too long. Nothing that it started outlives it."""
    test = subprocess.Popen(
        command, cwd=copy, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        told, _ = test.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if test.poll() is None:
            os.killpg(test.pid, signal.SIGKILL)
            test.communicate()
    return test.returncode, told


def run(patch: Path) -> bool:
    """Plant one fault; whether the test found it in time."""
    copy, compiled = target() / "project", target() / "target"
    copy_project(copy)
    share_dependencies(compiled)
    # No repository above the copy: git would look for the patch's files there.
    environment = {name: value for name, value in os.environ.items() if name not in STEERING}
    environment |= {"CARGO_TARGET_DIR": str(compiled), "GIT_CEILING_DIRECTORIES": str(copy.parent)}
    environment |= {"RUST_BACKTRACE": "0", "PYTHONPATH": str(copy / "python")}
    command = caught_by(patch)
    applied = subprocess.run(["git", "apply", "-C1", str(patch)], cwd=copy, env=environment, check=False)
    if applied.returncode:
        print(f"{patch.stem}: the patch does not apply any more; make it anew")
        return False
    if command[0] == "pytest":
        build = EXTENSION
        test = [python(), "-m", *command]
    else:
        before, _, filters = " ".join(command).partition(" -- ")
        build = [*shlex.split(before), "--no-run"]
        test = [*shlex.split(before), "--quiet", "--", *shlex.split(filters)]
    if subprocess.run([*build, "--quiet"], cwd=copy, env=environment, check=False).returncode:
        print(f"{patch.stem}: does not compile")
        return False
    if command[0] == "pytest":
        shutil.copyfile(compiled / "ci" / LIBRARY, copy / IMPORTED)
    start = time.monotonic()
    found = limited(test, copy, environment)
    if found is None:
        print(f"{patch.stem}: NOT caught in {LIMIT_SECONDS} s", flush=True)
        return False
    seconds = time.monotonic() - start
    failed = is_failure(command, *found)
    print(f"{patch.stem}: {'caught' if failed else 'NOT caught'} in {seconds:.1f} s", flush=True)
    return failed


def is_failure(command: list[str], code: int, told: bytes) -> bool:
    """Whether a test failed: not the runner, and not for want of a test."""
    if command[0] == "pytest":
        return code == 1
    return code != 0 and b"test result: FAILED" in told


def chosen(arguments: list[str]) -> list[Path]:
    """The patches that were asked for."""
    patches = sorted(PATCHES.glob("*.patch"))
    if arguments == ["--next"]:
        at = turns.number()
        turn = patches[at % len(patches)]
        if turns.cold():
            print(
                f"{turn.stem} would be the canary of commit {at}; it needs builds of its own, so a warm run plants it"
            )
            return []
        print(f"canary of commit {at}: {turn.stem}", flush=True)
        return [turn]
    unknown = set(arguments) - {patch.stem for patch in patches}
    if unknown:
        raise SystemExit(f"no canary is called {', '.join(sorted(unknown))}")
    return [patch for patch in patches if not arguments or patch.stem in arguments]


if __name__ == "__main__":
    results = [run(patch) for patch in chosen(sys.argv[1:])]
    if results:
        copy_project(target() / "project")
    sys.exit(0 if all(results) else 1)

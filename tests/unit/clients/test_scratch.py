"""Directories of our own: gone afterwards, however a run ended."""

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

import firstlight
from firstlight.clients import scratch
from tests.labs import until


def test_it_is_gone_afterwards_and_for_nobody_else(tmp_path: Path) -> None:
    with scratch.directory("helm", place=tmp_path) as root:
        assert root.stat().st_mode & 0o077 == 0
        assert root.parent == tmp_path

    assert list(tmp_path.iterdir()) == []


async def test_what_a_killed_run_left_goes_at_the_next(tmp_path: Path) -> None:
    script = (
        "import sys, time, pathlib\n"
        "from firstlight.clients import scratch\n"
        "with scratch.directory('helm', place=pathlib.Path(sys.argv[1])) as root:\n"
        "    (root / 'secret').write_text('x')\n"
        "    time.sleep(600)\n"
    )
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", script, str(tmp_path))

    async def written() -> bool:
        return bool(list(tmp_path.glob("firstlight-held-helm-*/secret")))

    await until(written, "the run to have its directory")
    scratch.swept(tmp_path)
    assert await written()  # it lives

    killed.send_signal(signal.SIGKILL)
    await killed.wait()
    assert await written()  # nobody took it away
    scratch.swept(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_only_what_is_ours_and_made_here_is_taken_away(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("x")
    place = tmp_path / "place"
    for name in ("firstlight-helm-old", "firstlight-lab-1", "somebody", "firstlight-held-git-1/inner"):
        (place / name).mkdir(parents=True)
    (place / "firstlight-held-git-1/link").symlink_to(elsewhere)
    (place / "firstlight-held-link").symlink_to(elsewhere)
    (place / "firstlight-held-file").write_text("x")

    scratch.swept(place)

    assert sorted(each.name for each in place.iterdir()) == [
        "firstlight-held-file", "firstlight-held-link", "firstlight-helm-old", "firstlight-lab-1", "somebody",
    ]  # fmt: skip
    assert (elsewhere / "kept").exists()


def test_what_belongs_to_another_user_stays(tmp_path: Path, monkeypatch: object) -> None:
    (tmp_path / "firstlight-held-git-1").mkdir()
    real = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: real + 1)  # type: ignore[attr-defined]

    scratch.swept(tmp_path)

    assert (tmp_path / "firstlight-held-git-1").is_dir()


def test_nobody_makes_a_temporary_directory_by_other_means() -> None:
    root = Path(firstlight.__file__).parent
    made = re.compile(r"TemporaryDirectory\(|mkdtemp\(|NamedTemporaryFile\(")

    found = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if made.search(path.read_text())}

    # The cache of tools has its own locks, and takes away what is not locked.
    assert found == {"clients/scratch.py", "tools/binary_cache.py"}

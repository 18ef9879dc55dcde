"""One run for a cluster on this computer; the lock file is a file of ours and nobody else's."""

import os
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.execute import lease


def test_the_second_is_told_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / ".firstlight" / "infra" / "lock"

    with (
        lease.local_lock(path, who="ann@desk:1"),
        pytest.raises(errors.Refused, match="another run works on this cluster: ann@desk:1"),
        lease.local_lock(path, who="bob"),
    ):
        pass
    with lease.local_lock(path, who="bob"):
        assert path.read_text() == "bob\n"


def test_a_link_to_a_file_of_the_user_is_refused(tmp_path: Path) -> None:
    victim = tmp_path / "id_ed25519"
    victim.write_text("a private key\n")
    path = tmp_path / ".firstlight" / "infra" / "lock"
    path.parent.mkdir(parents=True)
    path.symlink_to(victim)

    with pytest.raises(errors.Refused, match="is a link"), lease.local_lock(path, who="me"):
        pass

    assert victim.read_text() == "a private key\n"


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "infra" / "lock"
    path.parent.mkdir()
    os.mkfifo(path)

    with pytest.raises(errors.Refused, match="is no file"), lease.local_lock(path, who="me"):
        pass

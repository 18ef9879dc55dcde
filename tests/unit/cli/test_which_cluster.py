"""The kubeconfig that ``up`` has left lies in a repo, which may be anybody's."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.cli import which_cluster


@pytest.mark.parametrize("linked", [".", "infra", "infra/kubeconfig"])
def test_no_link_leads_to_another_cluster(tmp_path: Path, linked: str) -> None:
    own = tmp_path / "own"
    (own / "infra").mkdir(parents=True)
    for file in (own / "kubeconfig", own / "infra" / "kubeconfig"):
        file.write_text("apiVersion: v1\nkind: Config\n")
    state = tmp_path / "repo" / ".firstlight"
    (state / linked).parent.mkdir(parents=True)
    (state / linked).symlink_to(own / "kubeconfig" if linked.endswith("kubeconfig") else own)

    with pytest.raises(errors.Refused, match="is a link, which may lead anywhere"):
        which_cluster.config(state, "infra", kubeconfig=None, context="")

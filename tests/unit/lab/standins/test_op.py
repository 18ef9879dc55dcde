"""The stand-in for ``op`` says what is written down in op.yaml, also when it asks the stand-in for Connect."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.lab.standins import op, standin_vaults

HERE = Path(__file__).parent
CONTRACT: list[dict[str, Any]] = yaml.load((HERE / "op.yaml").read_text(), Loader=yaml.CSafeLoader)
EVERYTHING = {"OP_SERVICE_ACCOUNT_TOKEN": "ops_everything"}
STAMP = re.compile(r"\[ERROR\] \d{4}/\d\d/\d\d \d\d:\d\d:\d\d ")
ADMIN = standin_vaults.made_id("section", "icloudflare222222222222222", "Admin")


def put_vault(home: Path, **changes: Any) -> None:
    declared = yaml.load((HERE / "vault.yaml").read_text(), Loader=yaml.CSafeLoader) | changes
    file = home / standin_vaults.VAULT_FILE
    file.write_text(yaml.safe_dump(declared))
    file.chmod(0o600)


def call(home: Path, argv: list[str], *, env: dict[str, str], stdin: str = "") -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = op.call(argv, env={**env, op.HOME: str(home)}, stdin=io.StringIO(stdin), out=out, err=err)
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("case", CONTRACT, ids=lambda case: case["name"])
def test_it_answers_as_the_contract_says(case: dict[str, Any], tmp_path: Path) -> None:
    put_vault(tmp_path, **({"user": case["user"]} if "user" in case else {}))

    code, out, err = call(tmp_path, case["argv"], env=case.get("env", EVERYTHING), stdin=case.get("stdin", ""))

    assert code == case.get("code", 0), err
    if "json" in case:
        assert json.loads(out.replace(ADMIN, "{Admin}")) == case["json"]
    elif "json_has" in case:
        assert case["json_has"].items() <= json.loads(out).items()
    else:
        assert out == case.get("stdout", "")
    if code:
        assert bool(STAMP.match(err)) is case.get("stamped", True)
        said = STAMP.sub("", err, count=1).removesuffix("\n")
        assert said == case["stderr"] if "stderr" in case else case["stderr_has"] in said
    else:
        assert err == ""


def test_every_sentence_says_where_it_comes_from() -> None:
    connect = yaml.load((HERE / "connect.yaml").read_text(), Loader=yaml.CSafeLoader)

    for case in [*CONTRACT, *connect]:
        assert case["grade"] in {"documented", "seen", "assumed"}
        assert (case["source"] == "none") is (case["grade"] == "assumed"), case["name"]


def test_a_secret_goes_into_a_file_that_others_cannot_read(tmp_path: Path) -> None:
    put_vault(tmp_path)
    target = tmp_path / "secret"
    argv = ["read", "--out-file", str(target), "op://homelab/cloudflare/credential"]

    assert call(tmp_path, argv, env=EVERYTHING)[:2] == (0, f"{target}\n")
    assert target.read_text() == "tok,en"
    assert target.stat().st_mode & 0o777 == 0o600
    assert call(tmp_path, argv, env=EVERYTHING)[0] == 1
    assert call(tmp_path, ["read", "-f", *argv[1:]], env=EVERYTHING)[0] == 0


def test_people_are_told_that_it_is_a_stand_in(tmp_path: Path) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    put_vault(tmp_path)
    err = Terminal()
    op.call(["--version"], env={op.HOME: str(tmp_path)}, stdin=io.StringIO(), out=io.StringIO(), err=err)

    assert "stand-in" in err.getvalue()
    assert "stand-in" in call(tmp_path, [], env={})[1]


def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    put_vault(tmp_path)
    (tmp_path / standin_vaults.VAULT_FILE).chmod(0o640)

    code, _, err = call(tmp_path, ["read", "op://homelab/cloudflare/credential"], env=EVERYTHING)

    assert code == 1
    assert "others may read it (mode 0640)" in err


@pytest.mark.parametrize(
    "text",
    [
        "vaults: [{name: v, items: [{title: t, fields: [{label: l, value: hunter2}}]}]",
        "vaults: [{name: v, items: [{title: t, fields: [{label: l, value: [hunter2]}]}]}]",
        "vaults: [{name: v, items: [{title: t, hunter: hunter2}]}]",
    ],
)
def test_no_value_is_quoted_when_the_file_is_wrong(tmp_path: Path, text: str) -> None:
    file = tmp_path / standin_vaults.VAULT_FILE
    file.touch(mode=0o600)
    file.write_text(text)

    code, _, err = call(tmp_path, ["read", "op://v/t/l"], env=EVERYTHING)

    assert code == 1
    assert str(file) in err
    assert "hunter2" not in err


def test_values_and_tokens_do_not_show_when_they_are_printed(tmp_path: Path) -> None:
    put_vault(tmp_path)
    declared = standin_vaults.load_vaults(tmp_path / standin_vaults.VAULT_FILE)

    for shown in (repr(declared), repr(standin_vaults.declared_vaults(declared))):
        for secret in ("tok,en", "ops_everything", "aaa.bbb.ccc", "PEM"):
            assert secret not in shown

"""Flags of a machine config on the lab's own programs."""

from pathlib import Path

import pytest

from firstlight.lab import accepted_flags, flags


def test_what_makes_the_lab_work_stays_and_files_of_the_machine_are_left_out() -> None:
    extra = {"bind-address": ("0.0.0.0",), "oidc-ca-file": ("/etc/ca.pem",), "v": ("4",)}

    taken, notes = flags.usable("kube-apiserver", extra)

    assert taken == {"v": ("4",)}
    assert notes == [
        "kube-apiserver: --bind-address stays the lab's own",
        "kube-apiserver: --oidc-ca-file is left out, since it names a file of the machine",
    ]


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({}, ("--a=1", "--switch", "--feature-gates=A=true")),
        ({"a": ("2",)}, ("--switch", "--feature-gates=A=true", "--a=2")),
        ({"a": ("2", "3")}, ("--switch", "--feature-gates=A=true", "--a=2", "--a=3")),
        ({"switch": ("false",)}, ("--a=1", "--feature-gates=A=true", "--switch=false")),
        ({"feature-gates": ("B=true", "C=false")}, ("--a=1", "--switch", "--feature-gates=A=true,B=true,C=false")),
        ({"controllers": ("*", "-x")}, ("--a=1", "--switch", "--feature-gates=A=true", "--controllers=*,-x")),
        ({"new": ("",)}, ("--a=1", "--switch", "--feature-gates=A=true", "--new=")),
    ],
)
def test_flags_replace_ours_and_lists_are_added_to(
    extra: dict[str, tuple[str, ...]], expected: tuple[str, ...]
) -> None:
    assert flags.merge(("--a=1", "--switch", "--feature-gates=A=true"), extra) == expected


def test_admission_plugins_that_are_not_there_are_named() -> None:
    assert flags.plugins(("PodSecurity", "Dream"), {"PodSecurity"}) == (
        ("PodSecurity",),
        ["kube-apiserver: it has no admission plugin Dream"],
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("A=true,B=false",), {"feature-gates": ("B=false",)}),
        (("kube:A=true", "B=false"), {"feature-gates": ("B=false",)}),
        (("A=true",), {}),
        (("AB=true",), {"feature-gates": ("AB=true",)}),
    ],
)
def test_one_feature_gate_is_taken_out(given: tuple[str, ...], expected: dict[str, tuple[str, ...]]) -> None:
    assert accepted_flags.without_gate({"feature-gates": given, "v": ("1",)}, "A") == {"v": ("1",), **expected}


async def test_the_real_programs_say_what_they_know(programs: dict[str, Path]) -> None:
    extra = {"feature-gates": ("WatchList=true,Dream=true",), "nonsense": ("1",), "v": ("2",)}

    kept, notes = await accepted_flags.filtered(programs["kube-apiserver"], extra)
    plugins = await accepted_flags.admission_plugins(programs["kube-apiserver"])

    assert kept == {"feature-gates": ("WatchList=true",), "v": ("2",)}
    assert sorted(notes) == [
        "kube-apiserver: it has no feature gate Dream, which is left out",
        "kube-apiserver: it has no flag --nonsense, which is left out",
    ]
    assert {"PodSecurity", "NodeRestriction", "ValidatingAdmissionWebhook"} <= plugins


async def test_a_wrong_value_is_left_for_the_program_to_complain_of(programs: dict[str, Path]) -> None:
    extra = {"node-monitor-grace-period": ("soon",)}

    assert await accepted_flags.filtered(programs["kube-controller-manager"], extra) == (extra, [])

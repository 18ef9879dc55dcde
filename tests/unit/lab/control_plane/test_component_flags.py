"""Flags of a machine config on the lab's own programs."""

from pathlib import Path

import pytest

from firstlight.lab.control_plane import component_flags


def test_what_makes_the_lab_work_stays_and_files_of_the_machine_are_left_out() -> None:
    extra = {"bind-address": ("0.0.0.0",), "oidc-ca-file": ("/etc/ca.pem",), "v": ("4",)}

    taken, notes = component_flags.usable_flags("kube-apiserver", extra)

    assert taken == {"v": ("4",)}
    assert notes == [
        "kube-apiserver: --bind-address stays the lab's own",
        "kube-apiserver: --oidc-ca-file is left out, since it names a file of the machine",
    ]


@pytest.mark.parametrize(
    ("component", "flag", "value"),
    [
        ("kube-apiserver", "authentication-token-webhook-config-file", "../rehearsal/tree/fleet/kubeconfig"),
        ("kube-apiserver", "authorization-webhook-config-file", "x"),
        ("kube-apiserver", "admission-control-config-file", "rehearsal/tree/fleet/admission.yaml"),
        ("kube-apiserver", "authorization-config", "x"),
        ("kube-apiserver", "encryption-provider-config", "x"),
        ("kube-apiserver", "audit-webhook-config-file", "x"),
        ("kube-apiserver", "cert-dir", "x"),
        ("kube-controller-manager", "flex-volume-plugin-dir", "x"),
        ("kube-controller-manager", "cloud-config", "x"),
        ("kube-scheduler", "config", "x"),
        ("kube-scheduler", "anything", "./x"),
        ("kube-scheduler", "anything", "x/../../y"),
    ],
)
def test_a_flag_that_names_a_file_is_left_out_however_its_path_is_written(
    component: str, flag: str, value: str
) -> None:
    """A file of the rehearsed repo may be a kubeconfig with a command for its credentials."""
    taken, notes = component_flags.usable_flags(component, {flag: (value,)})

    assert taken == {}
    assert notes == [f"{component}: --{flag} is left out, since it names a file of the machine"]


@pytest.mark.parametrize("flag", ["feature-gates", "node-monitor-grace-period", "v", "profiling", "audit-log-maxage"])
def test_other_flags_stay(flag: str) -> None:
    assert component_flags.usable_flags("kube-controller-manager", {flag: ("x=a/b",)}) == ({flag: ("x=a/b",)}, [])


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
    assert component_flags.merge_flags(("--a=1", "--switch", "--feature-gates=A=true"), extra) == expected


def test_admission_plugins_that_are_not_there_are_named() -> None:
    assert component_flags.usable_plugins(("PodSecurity", "Dream"), {"PodSecurity"}) == (
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
    assert component_flags.without_feature_gate({"feature-gates": given, "v": ("1",)}, "A") == {"v": ("1",), **expected}


async def test_the_real_programs_say_what_they_know(programs: dict[str, Path]) -> None:
    extra = {"feature-gates": ("WatchList=true,Dream=true",), "nonsense": ("1",), "v": ("2",)}

    kept, notes = await component_flags.accepted_flags(programs["kube-apiserver"], extra)
    plugins = await component_flags.admission_plugins(programs["kube-apiserver"])

    assert kept == {"feature-gates": ("WatchList=true",), "v": ("2",)}
    assert sorted(notes) == [
        "kube-apiserver: it has no feature gate Dream, which is left out",
        "kube-apiserver: it has no flag --nonsense, which is left out",
    ]
    assert {"PodSecurity", "NodeRestriction", "ValidatingAdmissionWebhook"} <= plugins


async def test_a_wrong_value_is_left_for_the_program_to_complain_of(programs: dict[str, Path]) -> None:
    extra = {"node-monitor-grace-period": ("soon",)}

    assert await component_flags.accepted_flags(programs["kube-controller-manager"], extra) == (extra, [])

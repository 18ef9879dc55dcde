"""Ids of schematics as the image factory computes them; those of the first two are its own."""

import pytest

from firstlight.render.machines import schematics

EXTENSIONS = ["siderolabs/drbd", "siderolabs/gvisor", "siderolabs/iscsi-tools"]


def test_the_id_of_no_customization_is_the_well_known_one() -> None:
    known = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"

    assert schematics.identify({}) == known
    assert schematics.identify({"customization": {"extraKernelArgs": []}}) == known


def test_the_id_of_extensions_is_what_the_factory_says() -> None:
    schematic = {"customization": {"systemExtensions": {"officialExtensions": EXTENSIONS}}}

    assert schematics.identify(schematic) == "079113ce0508c2b803971ea6cce43fc95c10eff57a123699b5c76fdc773132ae"


@pytest.mark.parametrize(
    "schematic",
    [
        {"customization": {"meta": [{"key": 10, "value": "{}"}]}},
        {"customization": {"extraKernelArgs": ["with spaces: here"]}},
        {"customization": {"extraKernelArgs": ["123"]}},
        {"overlay": {"image": "example.org/overlay", "name": "rpi", "options": {"a": 1}}},
        {"customization": {"new": True}},
    ],
    ids=str,
)
def test_what_go_may_write_otherwise_is_left_to_the_factory(schematic: dict[str, object]) -> None:
    assert schematics.identify(schematic) is None


def test_installers_are_named_by_factory_id_and_version() -> None:
    assert schematics.installer("ab", "1.13.0") == "factory.talos.dev/installer/ab:v1.13.0"
    assert (
        schematics.installer("ab", "v1.13.0", factory="factory.example.org", is_secure=True)
        == "factory.example.org/installer-secureboot/ab:v1.13.0"
    )


@pytest.mark.parametrize(
    ("talos", "image"),
    [
        ("v1.13.9", f"{schematics.INSTALLER}:v1.13.9"),
        (
            "v1.14.1",
            "factory.example.org/metal-installer/"
            "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.14.1",
        ),
    ],
)
def test_talos_without_extensions_comes_from_the_factory_since_1_14(talos: str, image: str) -> None:
    assert schematics.plain_installer(talos, factory="factory.example.org") == image

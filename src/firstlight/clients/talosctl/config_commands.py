"""Machine configs: made, patched, checked and applied.

Everything in and out of here is a secret: a cluster's keys are in its machine configs. The texts travel by memory
files and standard output; nothing is written to a disk.
"""

import re
from collections.abc import Sequence

from firstlight import errors
from firstlight.clients.program_io import SecretArgument
from firstlight.clients.talosctl import talos_errors, talosctl_output
from firstlight.clients.talosctl.machine_target import MachineTarget, is_host
from firstlight.clients.talosctl.talosctl_program import OFFLINE, WRITE, TalosctlAnswer, TalosctlProgram
from firstlight.model import machine_config
from firstlight.model.secret import Secret

TRY = 60.0
"""Seconds after which a tried config is taken back."""

_EFFECTS: Sequence[tuple[str, machine_config.Effect]] = (
    ("Applied configuration without a reboot", "at-once"),
    ("Applied configuration with a reboot", "reboot"),
    ("Staged configuration to be applied after the next reboot", "staged"),
)
_TRIED = "The config is applied in 'try' mode"
_DIFF = re.compile(r"^(?:Config diff|diff):\s*\n", re.MULTILINE)
_NO_CHANGES = "No changes."
_WARNING = "WARNING: "
_FINGERPRINT = re.compile(r"[A-Za-z0-9+/]+=*")


class ConfigCommands(TalosctlProgram):
    """What makes a machine what it is."""

    async def gen_secrets(
        self, *, talos_version: str = "", from_controlplane: Secret | None = None, timeout: float = OFFLINE
    ) -> Secret:
        """The secrets of a cluster: new ones, or those of an existing cluster from a control-plane machine's config."""
        options: list[str | SecretArgument] = ["--output-file=-"]
        if talos_version:
            options.append(f"--talos-version={talos_version}")
        if from_controlplane is not None:
            options.append(SecretArgument("--from-controlplane-config=", from_controlplane, "the machine config"))
        done = await self._offline(["gen", "secrets"], options=options, timeout=timeout)
        return Secret(done.stdout)

    async def gen_config(
        self,
        kind: machine_config.Kind,
        *,
        cluster: str,
        endpoint: str,
        secrets: Secret,
        kubernetes_version: str = "",
        talos_version: str = "",
        install_disk: str = "",
        install_image: str = "",
        dns_domain: str = "",
        additional_sans: Sequence[str] = (),
        patches: Sequence[Secret] = (),
        timeout: float = OFFLINE,
    ) -> Secret:
        """The config of a kind of machine, or the administrator's talosconfig, from a cluster's secrets.

        Args:
            kind: What to make.
            cluster: The cluster's name.
            endpoint: The URL of the Kubernetes API.
            secrets: What ``gen_secrets`` made.
            kubernetes_version: Which Kubernetes; talosctl's own default if not given.
            talos_version: For machines that are older than talosctl.
            install_disk: Where to install to.
            install_image: What to install.
            dns_domain: The domain of services.
            additional_sans: More names of the Kubernetes API.
            patches: Applied in their order; strategic merge patches, since JSON patches do not fit several documents.
            timeout: Seconds.
        """
        for name in additional_sans:
            if not is_host(name):
                raise errors.UsageError(f"{name[:80]!r} is not an address or a host name")
        options: list[str | SecretArgument] = [
            SecretArgument("--with-secrets=", secrets, "the secrets"),
            "--output=-",
            f"--output-types={kind}",
            "--with-docs=false",
            "--with-examples=false",
        ]
        given = {
            "kubernetes-version": kubernetes_version,
            "talos-version": talos_version,
            "install-disk": install_disk,
            "install-image": install_image,
            "dns-domain": dns_domain,
            "additional-sans": ",".join(additional_sans),
        }
        options += [f"--{name}={value}" for name, value in given.items() if value]
        # talosctl makes the configs of both kinds, whatever is asked for: a patch that takes a taint of control planes
        # away does not fit that of a worker.
        option = {"controlplane": "--config-patch-control-plane=@", "worker": "--config-patch-worker=@"}.get(
            kind, "--config-patch=@"
        )
        options += [SecretArgument(option, patch, f"patch {n}") for n, patch in enumerate(patches, 1)]
        done = await self._offline(["gen", "config"], options=options, operands=[cluster, endpoint], timeout=timeout)
        return Secret(done.stdout)

    async def patch_config(self, config: Secret, patches: Sequence[Secret], *, timeout: float = OFFLINE) -> Secret:
        """A config with patches applied in their order; nothing is asked or changed anywhere.

        Raises:
            talos_errors.Rejected: A patch does not fit.
        """
        done = await self._offline(
            ["machineconfig", "patch"],
            options=[SecretArgument("--patch=@", patch, f"patch {n}") for n, patch in enumerate(patches, 1)],
            operands=[SecretArgument("", config, "the machine config")],
            timeout=timeout,
        )
        return Secret(done.stdout.removesuffix(b"\n"))

    async def validate(
        self,
        config: Secret,
        *,
        mode: machine_config.ValidationMode = "metal",
        strict: bool = False,
        timeout: float = OFFLINE,
    ) -> machine_config.ConfigValidation:
        """Whether a config is valid for a kind of platform; with ``strict`` warnings are problems."""
        done = await self._offline(
            ["validate"],
            options=[
                SecretArgument("--config=", config, "the machine config"),
                f"--mode={mode}",
                *(["--strict"] if strict else []),
            ],
            check=False,
            timeout=timeout,
        )
        warnings, rest = _warnings(done.stderr)
        if done.code == 0:
            return machine_config.ConfigValidation(warnings=warnings)
        error = talos_errors.from_output(talos_errors.TalosctlCall(("validate",)), rest)
        return machine_config.ConfigValidation(problems=error.problems, warnings=warnings)

    async def apply_config(
        self,
        target: MachineTarget,
        config: Secret,
        *,
        mode: machine_config.ApplyMode = "auto",
        dry_run: bool = False,
        try_timeout: float = TRY,
        fingerprints: Sequence[str] = (),
        timeout: float = WRITE,
    ) -> machine_config.AppliedConfig:
        """Give a config to a machine.

        Args:
            target: The machine.
            config: The whole config.
            mode: When it takes effect; ``auto`` reboots only if it must, and from Talos 1.14 on not at all.
            dry_run: Only say what would happen.
            try_timeout: Seconds after which the config is taken back in mode ``try``.
            fingerprints: Those of the certificates that a machine in maintenance mode may show, from its console.
            timeout: Seconds.

        Raises:
            talos_errors.Rejected: The config is wrong, or cannot take effect in this mode.
            talos_errors.Unreadable: A dry run does not say whether anything differs.
        """
        if fingerprints and not all(_FINGERPRINT.fullmatch(each) for each in fingerprints):
            raise errors.UsageError("a fingerprint is written in base64")
        options: list[str | SecretArgument] = [
            SecretArgument("--file=", config, "the machine config"),
            f"--mode={mode}",
        ]
        if dry_run:
            options.append("--dry-run")
        if mode == "try":
            options.append(f"--timeout={talosctl_output.format_duration(try_timeout)}")
        if fingerprints:
            options.append(f"--cert-fingerprint={','.join(fingerprints)}")
        done = await self._ask(["apply-config"], target, options=options, timeout=timeout, in_maintenance=True)
        applied = _applied(done, is_dry_run=dry_run)
        if applied is None:
            # Taken for no difference, a machine would never get its config, or pass for one that has it.
            detail = "it does not say, in words that are known here, whether anything differs"
            raise talos_errors.TalosUnreadable(self._call(["apply-config"], target), detail=detail)
        return applied


def _applied(done: TalosctlAnswer, *, is_dry_run: bool) -> machine_config.AppliedConfig | None:
    """What a machine says that it did, or None for a dry run without a difference, or the words that there is none.

    It says so in words only; those of Talos 1.12 to 1.14 are the same, but 1.14 never says that it reboots.
    """
    warnings, said = _warnings(done.stderr)
    effect: machine_config.Effect = "unknown"
    reason = ""
    for line in said.splitlines():
        for words, meaning in _EFFECTS:
            if line.startswith(words):
                effect = meaning
                reason = line.removeprefix(words).removeprefix(": ") if ": " in line else ""
    if _TRIED in said:
        effect = "tried"
    _, *diffs = _DIFF.split(done.unmasked.reveal().decode(errors="replace"), maxsplit=1)
    diff = diffs[0].strip("\n") if diffs else ""
    if is_dry_run and not diff:
        return None
    return machine_config.AppliedConfig(
        effect=effect,
        is_dry_run=is_dry_run,
        reason=reason,
        warnings=warnings,
        diff=Secret(f"{diff}\n") if diff and diff != _NO_CHANGES else None,
    )


def _warnings(stderr: str) -> tuple[tuple[str, ...], str]:
    """The warnings at the beginning, and the rest."""
    lines = stderr.splitlines()
    warnings = tuple(line.removeprefix(_WARNING) for line in lines if line.startswith(_WARNING))
    return warnings, "\n".join(line for line in lines if not line.startswith(_WARNING))

"""Hand a cluster over from the command line, or look what would come of it, or try a certificate again."""

import asyncio
import contextlib
import sys
from pathlib import Path

from firstlight.cli import means as cli_means
from firstlight.cli import output, screen, which_repo
from firstlight.commands.handover import handover as handover_room
from firstlight.commands.handover import text as text_module
from firstlight.commands.handover.handover import HandoverRequest
from firstlight.commands.up import carry_out, up
from firstlight.commands.up.up import PreparedRun
from firstlight.drawing import handover_text, table
from firstlight.errors import ExitCode
from firstlight.execute.handover import certificate_store
from firstlight.execute.loop import RunResult
from firstlight.execute.means import Means
from firstlight.model.certificate import Certificate
from firstlight.model.handover import Offer
from firstlight.model.platform import Platform


def hand_over(
    root: Path | None, asked: HandoverRequest, *, certificate: Path | None, signers: Path | None, canary: bool,
    is_forgetful: bool, yes: bool, kubeconfig: Path | None, offline: bool, form: str,
) -> int:  # fmt: skip
    """Hand a cluster of a repo over, or verify a certificate of it; return the exit code."""
    platform = which_repo.platform(root)

    async def run() -> int:
        means = await cli_means.user_means(platform, offline=offline, keep=False, kubeconfig=kubeconfig)
        try:
            if certificate is not None:
                return await _verified(platform, asked, means, certificate=certificate, signers=signers, form=form)
            return await _handed_over(
                platform, asked, means, canary=canary, is_forgetful=is_forgetful, yes=yes, form=form
            )
        finally:
            await means.close()

    return asyncio.run(run())


async def _handed_over(
    platform: Platform, asked: HandoverRequest, means: Means, *, canary: bool, is_forgetful: bool, yes: bool, form: str
) -> int:
    prepared = await handover_room.prepare(platform, asked, means)
    offers = handover_room.offers(prepared) if asked.is_dry_run else ()
    if prepared.is_blocked:
        carry_out.tell_problems(prepared, form)
        _offered(offers, form)
        return ExitCode.BLOCKED
    if asked.components:
        async with up.reached(prepared, means) as world:
            await handover_room.check_root(prepared, world)
    for line in handover_text.kept_lines(handover_room.kept(platform, prepared.cluster.name)):
        print(line, file=sys.stderr)
    is_losing = asked.is_loss_allowed and not asked.is_dry_run
    losses = await handover_room.losses(prepared, means) if is_losing else {}
    # The run is progress here: the answer is what is proven, or what would come of it.
    begun = means.now()
    with contextlib.redirect_stdout(sys.stderr):
        result = await carry_out.carry_out(prepared, asked.wishes, means, yes=yes, form="text")
    if asked.is_dry_run:
        await _foreseen(prepared, means, result=result, offers=offers, form=form)
        return result.exit_code
    found = await carry_out.certificate(prepared, means, result, since=begun)
    if canary and found is not None and found[0].is_complete:
        found = await _with_canary(prepared, means, key=asked.key, yes=yes)
    lost = handover_room.lost(losses, await handover_room.losses(prepared, means)) if losses else 0
    _proven(found, prepared, result=result, lost=lost, form=form)
    if found is not None and found[0].is_complete:
        await _left_behind(prepared, means, is_removed=is_forgetful, yes=yes)
    is_flawed = found is not None and not found[0].is_complete
    return result.exit_code or (ExitCode.FAILED if is_flawed else 0)


async def _with_canary(prepared: PreparedRun, means: Means, *, key: Path | None, yes: bool) -> tuple[Certificate, Path]:
    """The same, proven through Git as well."""
    return await handover_room.fly_canary(
        prepared, means, key=key, confirm=lambda text: yes or screen.agreed(text),
        tell=lambda text: print(f"  canary   {text}", file=sys.stderr),
    )  # fmt: skip


async def _verified(
    platform: Platform, asked: HandoverRequest, means: Means, *, certificate: Path, signers: Path | None, form: str
) -> int:
    """Whether what a certificate claims still holds."""
    given = certificate_store.read(certificate)
    prepared = await handover_room.prepare(platform, asked, means, is_checked=False)
    found = await handover_room.verify(given, prepared, means, signers=signers)
    output.answer(
        form, text_module.verified_text(found, columns=table.terminal_columns()), text_module.verified_data(found)
    )
    return 0 if found.now.is_complete else ExitCode.FINDINGS


async def _foreseen(
    prepared: PreparedRun, means: Means, *, result: RunResult, offers: tuple[Offer, ...], form: str
) -> None:
    """What would come of it: the server's own dry runs, and what Talos has and would do."""
    async with up.reached(prepared, means) as world:
        found = await handover_room.foresee(prepared, world)
    left = found.talos.left if found.talos is not None else ()
    upgrade = str(found.upgrade) if found.upgrade is not None else ""
    if form == "json":
        output.write_json(
            {
                **text_module.run_data(prepared.cluster.name, result.outcomes, is_refused=result.is_refused),
                "dryRun": True,
                "predictions": handover_text.prediction_data(found.predictions),
                "talos": {"left": left, "upgrade": upgrade},
                "offers": offers,
            }
        )
        return
    columns = table.terminal_columns()
    shown = handover_text.prediction_text(found.predictions, columns=columns)
    print("\n".join([shown, *(table.cut(each, columns) for each in handover_text.talos_lines(left, upgrade))]))
    _offered(offers, form)


def _offered(offers: tuple[Offer, ...], form: str) -> None:
    """Changes of files that the user may want, as diffs."""
    if offers and form == "text":
        print("\n".join(handover_text.offer_lines(offers)))


async def _left_behind(prepared: PreparedRun, means: Means, *, is_removed: bool, yes: bool) -> None:
    """What Helm kept and nobody needs: named, and removed if that was asked for."""
    async with up.reached(prepared, means) as world:
        found = await handover_room.left_behind(prepared, world)
        if not found:
            return
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        what = f"{found[0]}{more}, in which Helm kept what Argo CD owns now"
        if not is_removed:
            print(f"  left     {what}; --forget-releases removes them", file=sys.stderr)
        elif yes or screen.agreed(f"removes {what}"):
            await handover_room.forget(found, world, tell=lambda text: print(f"  {text}", file=sys.stderr))
            print(f"  removed  {what}", file=sys.stderr)


def _proven(
    found: tuple[Certificate, Path] | None, prepared: PreparedRun, *, result: RunResult, lost: int, form: str
) -> None:
    """The certificate in short, and where it is."""
    if form == "json":
        told = text_module.run_data(prepared.cluster.name, result.outcomes, is_refused=result.is_refused)
        short = text_module.proven_data(found[0], path=found[1]) if found is not None else None
        output.write_json({**told, "dryRun": False, "lost": lost, "certificate": short})
    elif found is not None:
        print("\n".join(carry_out.certificate_lines(found[0], found[1], cluster=prepared.cluster.name, lost=lost)))

"""An asset with a partition for each month, and a check of it; dagster dev -f dagster_asset.py."""

import os

import dagster as dg

import barrow as bw

MONTHS = dg.MonthlyPartitionsDefinition(start_date="2026-01", fmt="%Y-%m")
HOME = os.environ.get("VISITS", "/srv/visits")


@dg.asset(partitions_def=MONTHS, retry_policy=dg.RetryPolicy(max_retries=3))
def visits_mean(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    """The mean of one month; materialised again it is the same release, and costs nothing."""
    month = context.partition_key
    study = bw.Study.read(f"{HOME}/study.toml")
    release = study.release("mean", period=month, out=f"{HOME}/release/{month}/mean")
    checks = bw.verify(release.folder, ledger=study.ledger)
    if any(check.holds is False for check in checks):
        raise dg.Failure(description="; ".join(check.finding for check in checks if check.holds is False))
    return dg.MaterializeResult(metadata={"folder": str(release.folder), "price": release.statement.price})


monthly = dg.build_schedule_from_partitioned_job(dg.define_asset_job("visits", selection=[visits_mean]), hour_of_day=4)
defs = dg.Definitions(assets=[visits_mean], schedules=[monthly])

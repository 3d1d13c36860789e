"""A DAG that releases the last month and checks it; put it into the folder of DAGs."""

from datetime import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG(
    dag_id="visits_release",
    schedule="15 4 2 * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    # A release that was interrupted is finished by the same command, without a second payment: retries are safe.
    default_args={"retries": 3},
) as dag:
    release = BashOperator(
        task_id="release",
        cwd="/srv/visits",
        bash_command="barrow release --period last --quiet",
    )
    check = BashOperator(
        task_id="verify",
        cwd="/srv/visits",
        bash_command="barrow verify",
    )
    release >> check

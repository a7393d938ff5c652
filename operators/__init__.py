"""The seam between a task in Airflow and an engine. Nothing here touches samples or models."""

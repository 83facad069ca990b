"""Waiting without a worker's slot: for machines, and for a change of an application.

The triggers are in `ec2_cluster`, `jar_hash` (events of an asset) and `jar_hash_changed` (for a sensor).
What waits for an application is made of layers, each of which can be read by itself:

* `looking` looks at its files, with `known_hashes` of earlier looks, on S3 by `s3_files`;
* `hash_comparison` compares what it sees with the `newest_model`, for the sensor and its trigger;
* `change_watch` tells each change once, for the asset, by its `watch_journal`;
* `handing_over` waits until Airflow has stored an event, and `threads` calls what blocks.
"""

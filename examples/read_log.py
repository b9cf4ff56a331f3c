"""Record a run, read the log back, replay it, and convert it to pandas."""

import granite

granite.simulate(granite.load("free-flyer", {"loop.duration_s": 2.0}), "read_log.mcap", overwrite=True)
log = granite.read_log("read_log.mcap")
print(f"{log.info['bed']}, seed {log.info['seed']}, {len(log.rows)} rows, complete: {log.complete}")
print("topics:", ", ".join(topic.name for topic in log.channels.topics))
print("replays to the bit:", granite.replay(log).first is None)
try:
    print(log.to_pandas("/truth")[["base_x_m", "base_y_m"]].describe())
except granite.InputError as error:
    print(error)

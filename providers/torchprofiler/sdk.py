# For programs that say themselves what is profiled:
#
#     sdk = {}
#     exec(os.environ["FLAMEOX_TORCH_SDK"], sdk)
#     with sdk["profiler"]() as p:
#         for batch in batches:
#             train(batch)
#             p.step()
#
# The schedule, the activities and what is recorded come from the capture; each active cycle becomes one trace.

import json
import os


def profiler():
    """A torch.profiler.profile with what the capture says. p.step() ends a step."""
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule

    config = json.loads(os.environ["FLAMEOX_TORCH_CONFIG"])
    folder = os.environ["FLAMEOX_TORCH_OUTPUT"]
    activities = []
    for name in config["activities"]:
        if name == "cpu":
            activities.append(ProfilerActivity.CPU)
        elif torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        elif name == "cuda":
            raise RuntimeError("activities has cuda, and torch %s sees no CUDA device; write cuda_if_available to do without" % torch.__version__)
    cycle = [0]

    def ready(p):
        cycle[0] += 1
        name = os.path.join(folder, "torch-trace-cycle-%04d.json.gz" % cycle[0])
        # A cycle is written once: a second profiler would take the first one's place.
        os.close(os.open(os.path.join(folder, ".begun-%04d" % cycle[0]), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        p.export_chrome_trace(name)

    return profile(activities=activities, schedule=schedule(**config["schedule"]), on_trace_ready=ready, **config["record"])

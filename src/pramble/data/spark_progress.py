"""How far a job on Spark has come: the share of its tasks that are done."""

from typing import Any
from uuid import uuid4

from pramble.data.records import Watch

EVERY = 0.25
"""Seconds between looks at a job of a classic session."""


def collect(frame: Any, watch: Watch | None) -> Any:
    """Return a frame as an Arrow table, and tell meanwhile which share of its tasks is done."""
    if watch is None:
        return frame.toArrow()
    if hasattr(frame.sparkSession, "_sc"):
        return collect_classic(frame, watch)
    return collect_connect(frame, watch)


def collect_connect(frame: Any, watch: Watch) -> Any:
    """Return a frame as an Arrow table; Connect tells how far it is."""
    session = frame.sparkSession

    def told(stages: Any, **others: Any) -> None:
        del others
        tasks = sum(stage.num_tasks for stage in stages or ())
        done = sum(stage.num_completed_tasks for stage in stages or ())
        watch(0, done / max(tasks, 1))

    session.registerProgressHandler(told)
    try:
        return frame.toArrow()
    finally:
        session.removeProgressHandler(told)


def collect_classic(frame: Any, watch: Watch) -> Any:
    """Return a frame as an Arrow table from a thread of its own, whose job can be looked at."""
    from pyspark import InheritableThread

    context = frame.sparkSession.sparkContext
    name, answer, failed = f"pramble {uuid4()}", [], []

    def work() -> None:
        context.setJobGroup(name, "counting with pramble", interruptOnCancel=True)
        try:
            answer.append(frame.toArrow())
        except Exception as error:  # noqa: BLE001 (raised again in the thread that waits)
            failed.append(error)

    thread = InheritableThread(target=work)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(EVERY)
            watch(0, share_done(context.statusTracker(), name))
    except BaseException:
        context.cancelJobGroup(name)
        raise
    if failed:
        raise failed[0]
    return answer[0]


def share_done(tracker: Any, group: str) -> float:
    """Return which share of the tasks of a group of jobs is done."""
    tasks = done = 0
    for job in tracker.getJobIdsForGroup(group):
        known = tracker.getJobInfo(job)
        for stage in known.stageIds if known else ():
            found = tracker.getStageInfo(stage)
            tasks += found.numTasks if found else 0
            done += found.numCompletedTasks if found else 0
    return done / tasks if tasks else 0.0

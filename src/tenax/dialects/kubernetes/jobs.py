"""Reads the Jobs and CronJobs of Kubernetes: `backoffLimit`, `podFailurePolicy`, completions and the command of the pod."""

from __future__ import annotations

from dataclasses import replace

from tenax.dialects.kubernetes.pod_failures import with_pod_failures
from tenax.dialects.kubernetes.pods import POD, read_container
from tenax.dialects.native.names import of_step, workflow_name
from tenax.dialects.native.policy import FOREIGN, duration, policy_fields, retries_words, with_delays
from tenax.dialects.native.schedules import read_schedule
from tenax.dialects.native.workflow import NO_LIMIT, NativeWorkflow, Step, set_retry
from tenax.dialects.reading.fields import Fields
from tenax.dialects.reading.recognise import Signs
from tenax.model.policy import Policy

SIGNS = Signs(
    api=("batch/",),
    kinds=("Job", "CronJob"),
    part={"backoffLimit": 4, "podFailurePolicy": 4, "completions": 2, "template": 1, "jobTemplate": 3},
    lists=("spec",),
)
_RETRIES = 6
_FIRST_DELAY, _LONGEST_DELAY = 10.0, 360.0  # seconds
_MOST_ITEMS = 100_000
_JOB = {
    "ttlSecondsAfterFinished": "is not carried over: finished executions are kept as the settings say",
    "suspend": "is not carried over: an execution starts when it is submitted",
    "manualSelector": "is not carried over",
    "selector": "is not carried over",
    "podReplacementPolicy": "is not carried over: an attempt starts when the one before has ended",
    "managedBy": "is not carried over",
    "successPolicy": "is not carried over: the step completes when all items have",
}


def translate(top: Fields) -> list[NativeWorkflow]:
    meta, spec = top.sub("metadata"), top.sub("spec")
    name = meta.text("name") or meta.text("generateName").rstrip("-") or "job"
    meta.ignore(
        "labels", "annotations", "creationTimestamp", "uid", "resourceVersion", "generation", "managedFields"
    )
    meta.rest({"namespace": "is not carried over: all workflows of a database share their names"})
    top.ignore("apiVersion", "kind", "status")
    top.rest()
    if "jobTemplate" in spec:
        inner = spec.sub("jobTemplate")
        inner.ignore("metadata")
        job = inner.sub("spec")
        inner.rest()
    else:
        job = spec
    workflow = NativeWorkflow(workflow_name(name), top.notes)
    if "template" not in job:
        top.notes.mistake(job.path, "a Job needs `spec.template`, its pod")
        return []
    _job(workflow, job, name)
    if job is not spec:
        read_schedule(workflow, spec, catches_up=True)
        spec.rest(dict.fromkeys(spec.data, "is not carried over"))
    return [workflow]


def _job(workflow: NativeWorkflow, job: Fields, name: str) -> None:
    template = job.sub("template")
    template.ignore("metadata", "spec")
    template.rest()
    pod = template.sub("spec")
    containers = pod.each("containers")
    if not containers:
        job.notes.mistake(pod.path, "the pod has no containers")
        return
    for other in containers[1:]:
        other.note("dropped", None, "a step runs one process: only the first container is carried over")
    keys = read_container(containers[0])
    native = workflow.add(workflow.names.give(name), "process", containers[0], **keys)
    _deadlines(workflow, native, job, pod)
    policy = _policy(job, pod)
    _completions(workflow, native, job, policy)
    set_retry(
        native, policy, job, job.first_of("backoffLimitPerIndex", "backoffLimit") if _has_limit(job) else None
    )
    pod.ignore("restartPolicy", "dnsPolicy", "schedulerName")
    pod.rest(POD)
    job.rest(_JOB)


def _has_limit(job: Fields) -> bool:
    return "backoffLimit" in job or "backoffLimitPerIndex" in job


def _deadlines(workflow: NativeWorkflow, native: Step, job: Fields, pod: Fields) -> None:
    """Reads the deadline of the Job, which holds for all its attempts, and that of each pod."""
    if "activeDeadlineSeconds" in job:
        workflow.deadline = duration(job.seconds("activeDeadlineSeconds"))
        job.note(
            "understood", "activeDeadlineSeconds", f"is the deadline of the workflow: {workflow.deadline}"
        )
    if "activeDeadlineSeconds" in pod:
        native["timeout"] = duration(pod.seconds("activeDeadlineSeconds"))
        pod.note("understood", "activeDeadlineSeconds", f"is the timeout of an attempt: {native['timeout']}")
    else:
        native["timeout"] = duration(NO_LIMIT)
        pod.note("changed", None, "a pod has no time limit: the timeout of an attempt is 365 days")


def _policy(job: Fields, pod: Fields) -> Policy:
    """Reads the retries, which have the delays of the Job controller: from 10 s, doubling, at most 6 min."""
    policy = with_delays(FOREIGN, "exponential", _FIRST_DELAY, _LONGEST_DELAY)
    key = job.first_of("backoffLimitPerIndex", "backoffLimit")
    retries = job.whole(key, _RETRIES)
    if retries < 0:
        job.notes.mistake((*job.path, key), "must not be negative")
    total = max(retries, 0) + 1
    if key in job:
        job.note(
            "changed", key, f"{retries_words(retries)}: max_attempts: {total}, the first attempt included"
        )
    else:
        job.note(
            "changed", None, f"no backoffLimit: the default of {_RETRIES} retries, so max_attempts: {total}"
        )
    if key == "backoffLimitPerIndex" and "backoffLimit" in job:
        job.note("dropped", "backoffLimit", "the limit of all indexes together: here each item has its own")
    restart = pod.text("restartPolicy")
    if restart == "OnFailure":
        pod.note("changed", "restartPolicy", "OnFailure: the container is run again as an attempt of its own")
    elif restart == "Always":
        pod.notes.mistake((*pod.path, "restartPolicy"), "a Job takes Never or OnFailure, not Always")
    return with_pod_failures(replace(policy, max_attempts=total), job)


def _completions(workflow: NativeWorkflow, native: Step, job: Fields, policy: Policy) -> None:
    """Makes a fan-out of a Job of several pods: an item for each of them."""
    indexed = job.text("completionMode", "NonIndexed") == "Indexed"
    parallelism = job.whole("parallelism", 1)
    count = job.whole("completions", max(1, parallelism))
    if "completions" not in job and parallelism > 1:
        job.note("changed", "parallelism", f"no completions: all {count} pods must succeed here")
    if count <= 1 and not indexed:
        return
    if count > _MOST_ITEMS:
        job.notes.mistake(
            (*job.path, "completions"), f"{count:,} pods; a fan-out in a file has at most {_MOST_ITEMS:,}"
        )
        return
    native["for_each"] = list(range(count))
    native["parallelism"] = max(parallelism, 1)
    if indexed:
        native.setdefault("env", {}).setdefault("JOB_COMPLETION_INDEX", "{{ index }}")
    if "backoffLimitPerIndex" in job:
        _failed_indexes(workflow, native, job, count)
    elif policy.max_attempts != 1:
        key = "backoffLimit" if "backoffLimit" in job else None
        job.note("changed", key, "counts the failures of all pods together there, and of each item here")


def _failed_indexes(workflow: NativeWorkflow, native: Step, job: Fields, count: int) -> None:
    """Lets the other indexes go on when one has failed, and lets the workflow fail at the end."""
    most = job.whole("maxFailedIndexes", count)
    native["tolerate"] = min(most, count)
    failed = f"{of_step(str(native['step']), 'failures')} | length > 0"
    name = workflow.names.fresh(f"{native['step']}-verdict")
    verdict = workflow.add(
        name,
        "process",
        job,
        needs=[native["step"]],
        when=failed,
        command=["sh", "-c", "echo 'some indexes have failed' >&2; exit 1"],
        timeout=duration(60.0),
    )
    verdict["retry"] = policy_fields(FOREIGN)
    sentence = f"the other indexes go on, and the step `{name}` fails if one has failed"
    job.note("understood", "maxFailedIndexes" if "maxFailedIndexes" in job else None, sentence)

"""Texts of Ray, Kubernetes, Docker and Horovod's launcher, which start ranks in containers and actors.

May import: facts, known.
"""

from __future__ import annotations

from suites.diagnose.evidence.known import Known
from suites.diagnose.facts import Level

_OWN = Level.INITIATING
_POD = r"(?P<host>[a-z\d][a-z\d.-]{0,252})"
_IP = r"(?P<address>[\da-fA-F.:]{2,45})"

CLOUD = (
    Known("kubernetes.oom", "OOMKilled",
          r"^(?!\s*Reason:\s|(?:\S{1,63}\s{1,60})?\S{1,253}\s{1,90}\d{1,3}/\d{1,3}\s).*"
          r'\bOOMKilled\b(?!"?\s{0,4}[:=]\s{0,4}false)', _OWN,
          "a container was killed for want of memory", "resource"),
    Known("kubernetes.evicted", "low on resource", r"[Tt]he node was low on resource: (?P<what>[\w-]{1,40})", _OWN,
          "a pod was evicted since its node ran out of {what}", "resource",
          remedy=("requests and limits of the pod, against `kubectl describe node`",)),
    Known("kubernetes.node", "NodeNotReady", rf"\bNodeNotReady\s{{1,40}}(?:pod|node)/{_POD}", Level.TRANSPORT,
          "the node of {host} is not ready: its kubelet is not heard of", "device", "host",
          ("`kubectl get nodes` and `kubectl describe node`; the log of the host",)),
    Known("kubernetes.node", "NodeNotReady", r"\bNodeNotReady\b", Level.TRANSPORT,
          "a node is not ready: its kubelet is not heard of", "device",
          remedy=("`kubectl get nodes`: which; the log of the host",)),
    Known("kubernetes.devices", "requested number of devices unavailable",
          r"requested number of devices unavailable for (?P<what>[\w./-]{1,80})", Level.TRANSPORT,
          "a node has fewer {what} than a pod wants: one is taken, or not well", "launch",
          remedy=("`kubectl describe node`: Allocatable; the log of the device plugin there",)),
    Known("kubernetes.volume", "MountVolume.", r"MountVolume\.\w{1,20} failed for volume \"(?P<what>[^\"]{1,200})\"",
          Level.TRANSPORT, "a node cannot mount {what} for a pod", "launch", remedy=("kubectl describe pod",)),
    Known("kubernetes.sandbox", "Failed to create pod sandbox", r"Failed to create pod sandbox: (?P<why>.{1,160})",
          Level.TRANSPORT, "a node cannot make a pod: {why}", "launch", remedy=("kubectl describe pod",)),
    Known("kubernetes.evicted", "MPIJobEvicted", r"\bMPIJobEvicted\b", Level.TRANSPORT,
          "Kubernetes has evicted workers of the job", "resource",
          remedy=("`kubectl get events`: which pod was evicted, and why",)),
    Known("kubernetes.evicted", "Evicted", rf"^{_POD}\s{{1,90}}\d{{1,3}}/\d{{1,3}}\s{{1,40}}Evicted\s", _OWN,
          "the pod {host} was evicted", "resource", "host", ("kubectl describe pod {host}: what its node ran out of",)),
    Known("kubernetes.no_start", "0/", rf"^{_POD}\s{{1,90}}0/\d{{1,3}}\s{{1,40}}(?:Init:)?"
          r"(?P<why>ImagePullBackOff|ErrImagePull|InvalidImageName|CreateContainer\w{1,20}Error|RunContainerError)\s",
          _OWN, "the pod {host} does not start: {why}", "launch", "host", ("kubectl describe pod {host}",)),
    Known("kubernetes.no_pod", "Error from server (NotFound): pods", rf'\(NotFound\): pods "{_POD}" not found', _OWN,
          "there is no pod {host}", "launch", "host", ("kubectl get pod {host} -o wide",)),
    Known("kubernetes.no_container", "unable to upgrade connection", r"unable to upgrade connection: (?P<why>.{1,100})",
          _OWN, "kubectl runs nothing in a pod: {why}", "launch", remedy=("`kubectl get pods`: are all Running?",)),
    Known("kubernetes.unschedulable", "nodes are ", r"\d{1,6}/\d{1,6} nodes are (?:un)?available: (?P<why>.{1,160})",
          _OWN, "Kubernetes finds no node for a pod: {why}", "launch", remedy=("kubectl describe pod",)),
    Known("kubernetes.image", "Failed to pull image", r'Failed to pull image "(?P<image>[^"]{1,200})"', _OWN,
          "a node cannot pull {image}", "launch", remedy=("kubectl describe pod",)),
    Known("docker.start", "Error response from daemon", r"[Dd]ocker: Error response from daemon: (?P<why>.{1,120})",
          _OWN, "docker did not start a container: {why}", "launch"),
    Known("horovod.ssh", "ssh not successful for host", r"ssh not successful for host "
    r"(?P<host>[\w.-]{1,255}):?", _OWN,
          "ssh does not come to {host}", "launch", "host", ("ssh -v {host} true",)),
    Known("horovod.mismatch", "Mismatched ",
          r"Mismatched (?P<aspect>[\w ]{1,60}): One rank (?:sent|did|had|specified) "
          r"(?P<one>.{1,80}?), but another rank (?:sent|did|had|specified) (?P<other>[^.]{1,80})", _OWN,
          "ranks differ in {aspect}: {one}, and {other}", "mismatch",
          remedy=("the name of the tensor there, and what each rank gave for it: HOROVOD_LOG_LEVEL=debug",)),
    Known("horovod.ended", "exited with non-zero", r"Horovod detected that one or more processes exited with non-zero",
          Level.TEARDOWN, "horovodrun ends the others after one has failed"),
    Known("ray.memory", "running low on memory", r"due to the node running low on memory(?:.{0,200}?IP: "
          rf"{_IP})?", _OWN, "Ray ended a worker since its host ran out of memory", "resource",
          remedy=("fewer or smaller workers a host; RAY_memory_usage_threshold",)),
    Known("ray.memory", "due to memory pressure (OOM)", r"\b[1-9]\d{0,5} Workers \(tasks / actors\) killed due to "
          rf"memory pressure \(OOM\).{{0,200}}?IP: {_IP}", _OWN, "Ray ended workers since their host ran out of memory",
          "resource", "host", ("fewer or smaller workers a host; RAY_memory_usage_threshold",)),
    Known("ray.worker", "Worker exit type:", rf"Worker IP address: {_IP} Worker port: \d+ "
          r"Worker PID: (?P<pid>\d{1,9}) Worker exit type: (?P<kind>SYSTEM_ERROR|NODE_OUT_OF_MEMORY|USER_ERROR)", _OWN,
          "a worker of Ray has died: {kind}", "crashed", "speaker",
          ("the worker's log in /tmp/ray/session_latest/logs, `dmesg | grep -i oom` on its host",)),
    Known("ray.node", "has been marked dead because the detector", rf"address: {_IP} and node name: \S{{1,255}} has "
    rf"been "
          "marked dead", Level.TRANSPORT, "the raylet of {address} has not been heard of for long", "transport", "host",
          ("whether {address} is up, and its raylet.out and dashboard_agent.log in /tmp/ray/session_latest/logs",
           "`dmesg | grep -i oom` there")),
    Known("ray.node", "has been marked dead because the detector", r"has been marked dead because the detector",
          Level.TRANSPORT, "the raylet of a node has not been heard of for long", "transport",
          remedy=("`ray list nodes`: which is dead",)),
    Known("ray.node_died", "because its node has died", r"because its node has died", Level.TRANSPORT,
          "the node of an actor of Ray has died", "crashed",
          remedy=("whether the node was preempted or drained, and its raylet.out; `ray list nodes`",)),
    Known("ray.crashed", "WorkerCrashedError", r"WorkerCrashedError", Level.CASCADE, "a worker of Ray has died"),
    Known("ray.actor", "ActorDiedError", r"ActorDiedError", Level.CASCADE, "an actor of Ray has died"),
    Known("ray.actor", "RayActorError", r"RayActorError", Level.CASCADE, "an actor of Ray has died"),
    Known("ray.actor", "The actor died unexpectedly", r"The actor died unexpectedly", Level.CASCADE,
          "an actor of Ray has died"),
    Known("ray.actor", "The actor is dead because", r"The actor is dead because", Level.CASCADE,
          "an actor of Ray has died"),
)  # fmt: skip

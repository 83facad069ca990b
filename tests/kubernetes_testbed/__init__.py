"""A stand-in for Kubernetes on which ``spark-submit --master k8s://...`` runs for real, without a cluster.

The API is fabric8's mock server, which keeps what is put there and tells who watches; Spark's own client comes from
the same project. A program beside it (`KubernetesTestbed.java`) does what Spark needs of the rest: pods get a node
with room for what they request, are Pending while none has, and run as processes of this machine, each at a loopback
address of its own; their status has phases and exit codes; a deleted pod's process ends, and so does what the pod
owned; the name of a driver's service stands for its pod's address.

What it does not show:

* images: whatever image a pod names, it runs this machine's Spark, Java and Python by `entrypoint`, which does what
  the one in Spark's image does;
* isolation and limits: pods see this machine's files, and nothing holds them to their CPU or ends them for memory;
* scheduling beyond requests: no selectors, affinities, taints, priorities, preemption, quotas or autoscaling, and
  only Pod is a kind that anything acts upon (no Deployment, StatefulSet, Job or Spark operator);
* networks: everything is loopback, the API is plain HTTP;
* accounts: no authentication, service accounts, RBAC, secrets; admission webhooks neither;
* volumes other than config maps, emptyDir and hostPath, and these under other paths: a pod's variables and arguments
  are rewritten to name them;
* a pod's logs by the API, init containers and side-cars.
"""

from tests.kubernetes_testbed.testbed import KubernetesTestbed, Pod

__all__ = ["KubernetesTestbed", "Pod"]

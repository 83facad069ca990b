"""A stand-in for Kubernetes on which ``spark-submit --master k8s://...`` runs for real, without a cluster.

The API is fabric8's mock server, which keeps what is put there and tells who watches; Spark's own client is
of the same project. A program beside it (`KubernetesTestbed.java`) does what Spark needs of the rest. A pod
gets a node with room for what it requests, is Pending while none has, and runs as a process of this machine
at a loopback address of its own; its status has phases and exit codes. A deleted pod's process ends, and so
does what the pod owned. The name of a driver's service stands for its pod's address.

What it does not show:

* images: whatever image a pod names, it runs this machine's Spark, Java and Python by `entrypoint`, which
  does what the one in Spark's image does;
* isolation and limits: pods see this machine's files, and nothing holds them to their CPU or ends them for
  the memory that they take;
* scheduling beyond requests: no selectors, affinities, taints, priorities, preemption, quotas, autoscaling;
* what acts upon other kinds than Pod: no Deployment, StatefulSet or Job, and no Spark operator;
* networks: all is loopback, and the API is plain HTTP, whose watches are WebSockets only;
* accounts: no authentication, service accounts, RBAC or secrets, and no admission webhooks;
* volumes other than config maps, emptyDir and hostPath. They lie under other paths here: a pod's variables
  and arguments are rewritten to name those;
* a pod's logs by the API, init containers and side-cars.
"""

from tests.kubernetes_testbed.testbed import NAMESPACE, KubernetesTestbed, Pod

__all__ = ["NAMESPACE", "KubernetesTestbed", "Pod"]

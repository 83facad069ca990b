import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerStatusBuilder;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.KeyToPath;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.PodStatus;
import io.fabric8.kubernetes.api.model.PodStatusBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.api.model.VolumeMount;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.PodResource;
import io.fabric8.kubernetes.client.server.mock.KubernetesMixedDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;
import io.fabric8.mockwebserver.ServerRequest;
import io.fabric8.mockwebserver.ServerResponse;
import io.fabric8.mockwebserver.dsl.HttpMethod;
import io.fabric8.mockwebserver.http.Buffer;
import io.fabric8.mockwebserver.http.Dispatcher;
import io.fabric8.mockwebserver.http.Headers;
import io.fabric8.mockwebserver.http.MockResponse;
import io.fabric8.mockwebserver.http.RecordedRequest;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * What Spark needs of Kubernetes, on this machine: an API server (fabric8's mock server, which keeps what is put
 * there), and in place of scheduler, kubelets, garbage collector and DNS one loop that starts pods as processes.
 *
 * <p>Arguments: DIRECTORY NODES CPU_OF_A_NODE MEMORY_OF_A_NODE ENTRYPOINT. Prints the API's port, and ends with all
 * pods when its standard input does, that is, with the process that started it.
 */
public final class KubernetesTestbed {
  private static final Logger LOGGER = Logger.getLogger("io.fabric8.mockwebserver");
  private static final long POLL_MILLISECONDS = 200;
  /** Kubernetes gives a pod 30 s unless its specification says otherwise; Spark's executors need one or two. */
  private static final long GRACE_SECONDS = 5;

  /**
   * What Spark wants of the API and the mock server lacks: server-side apply, new pods that are Pending, and deleted
   * ones that stay, marked as deleted, until their process has ended.
   */
  private static final class Api extends Dispatcher {
    /** The mock server keeps what has a finalizer until that is removed. */
    private static final String FINALIZER = "ernest.tests/kubelet";
    private static final String APPLY = "application/apply-patch";
    private final Dispatcher server;

    Api(Dispatcher server) {
      this.server = server;
    }

    @Override
    public MockResponse dispatch(RecordedRequest request) {
      String path = request.getPath().replaceFirst("[?].*", "");
      if (request.method() == HttpMethod.POST && path.endsWith("/pods")) {
        return create(path, read(request));
      }
      if (request.method() == HttpMethod.PATCH && request.getHeader("Content-Type").startsWith(APPLY)) {
        return apply(path, read(request));
      }
      return server.dispatch(request);
    }

    private MockResponse apply(String path, GenericKubernetesResource object) {
      if (send(HttpMethod.GET, path, "").code() == 200) {
        return send(HttpMethod.PATCH, path, Serialization.asJson(object));
      }
      return create(path.substring(0, path.lastIndexOf('/')), object);
    }

    private MockResponse create(String path, GenericKubernetesResource object) {
      if (object.getKind().equals("Pod")) {
        object.setAdditionalProperty("status", Map.of("phase", "Pending"));
        object.getMetadata().setFinalizers(List.of(FINALIZER));
      }
      return send(HttpMethod.POST, path, Serialization.asJson(object));
    }

    private MockResponse send(HttpMethod method, String path, String body) {
      String type = method == HttpMethod.PATCH ? "application/merge-patch+json" : "application/json";
      Headers headers = Headers.builder().setHeader("Content-Type", type).build();
      Buffer content = new Buffer(body.getBytes(StandardCharsets.UTF_8));
      return server.dispatch(new RecordedRequest("HTTP/1.1", method, path, headers, content));
    }

    private static GenericKubernetesResource read(RecordedRequest request) {
      return Serialization.unmarshal(request.getUtf8Body(), GenericKubernetesResource.class);
    }
  }

  /** A pod that was given a node, and its process. */
  private static final class Placed {
    final Pod pod;
    final String node;
    final String address;
    final String startedAt = Instant.now().toString();
    Process process;
    boolean ended;

    Placed(Pod pod, String node, String address) {
      this.pod = pod;
      this.node = node;
      this.address = address;
    }
  }

  private final KubernetesClient client;
  private final Path directory;
  private final String entrypoint;
  private final Map<String, Map<String, BigDecimal>> capacities = new LinkedHashMap<>();
  /** By the pods' uid. Also read when the Java machine shuts down. */
  private final Map<String, Placed> placed = new ConcurrentHashMap<>();
  private int addressesGiven = 0;

  private KubernetesTestbed(KubernetesClient client, Path directory, String entrypoint) {
    this.client = client;
    this.directory = directory;
    this.entrypoint = entrypoint;
  }

  public static void main(String[] arguments) throws Exception {
    LOGGER.setLevel(Level.WARNING);
    Map<ServerRequest, Queue<ServerResponse>> answers = new HashMap<>();
    KubernetesMockServer server =
        new KubernetesMockServer(
            new Context(), new MockWebServer(), answers, new Api(new KubernetesMixedDispatcher(answers)), false);
    server.init(InetAddress.getByName("127.0.0.1"), 0);
    KubernetesTestbed testbed =
        new KubernetesTestbed(server.createClient(), Path.of(arguments[0]).toAbsolutePath(), arguments[4]);
    for (int number = 1; number <= Integer.parseInt(arguments[1]); number++) {
      testbed.addNode("node-" + number, arguments[2], arguments[3]);
    }
    testbed.writeHosts(List.of());
    Runtime.getRuntime().addShutdownHook(new Thread(testbed::endAll));
    Thread parent = new Thread(KubernetesTestbed::exitWithParent);
    parent.setDaemon(true);
    parent.start();
    System.out.println(server.getPort());
    // Always in this thread: the kernel ends the pods (PDEATHSIG) when the thread that started them ends.
    while (true) {
      try {
        testbed.reconcile();
      } catch (RuntimeException error) {
        error.printStackTrace(); // the next round tries again, as a controller does
      }
      Thread.sleep(POLL_MILLISECONDS);
    }
  }

  private static void exitWithParent() {
    try {
      while (System.in.read() >= 0) {}
    } catch (IOException error) {
      error.printStackTrace();
    }
    System.exit(0);
  }

  private void addNode(String name, String cpu, String memory) {
    Map<String, Quantity> capacity = Map.of("cpu", new Quantity(cpu), "memory", new Quantity(memory));
    client
        .nodes()
        .resource(
            new NodeBuilder()
                .withNewMetadata()
                .withName(name)
                .addToLabels("kubernetes.io/hostname", name)
                .endMetadata()
                .withNewStatus()
                .withCapacity(capacity)
                .withAllocatable(capacity)
                .addNewCondition()
                .withType("Ready")
                .withStatus("True")
                .endCondition()
                .endStatus()
                .build())
        .create();
    capacities.put(name, amounts(capacity));
  }

  private void reconcile() throws InterruptedException {
    // What belongs to pods is listed before the pods: what has just come has an owner that is seen, too.
    List<ConfigMap> configMaps = client.configMaps().inAnyNamespace().list().getItems();
    List<Service> services = client.services().inAnyNamespace().list().getItems();
    List<HasMetadata> owned = new ArrayList<>(configMaps);
    owned.addAll(services);
    owned.addAll(client.persistentVolumeClaims().inAnyNamespace().list().getItems());
    List<Pod> pods = client.pods().inAnyNamespace().list().getItems();
    owned.addAll(pods);
    Set<String> uids = pods.stream().map(pod -> pod.getMetadata().getUid()).collect(Collectors.toSet());

    collectGarbage(owned, uids);
    endDeleted(pods);
    placed.values().forEach(this::noteEnd);
    writeHosts(services);
    pods.stream()
        .filter(pod -> !placed.containsKey(pod.getMetadata().getUid()) && !pod.isMarkedForDeletion())
        .sorted(Comparator.comparing(pod -> Long.parseLong(pod.getMetadata().getResourceVersion())))
        .forEach(pod -> schedule(pod, configMaps));
  }

  /** As a kubelet does: end the process, say how it ended, and let the API forget the pod. */
  private void endDeleted(List<Pod> pods) throws InterruptedException {
    List<Pod> deleted = pods.stream().filter(Pod::isMarkedForDeletion).toList();
    List<Placed> ending =
        deleted.stream().map(pod -> placed.get(pod.getMetadata().getUid())).filter(Objects::nonNull).toList();
    end(ending);
    ending.forEach(this::noteEnd);
    for (Pod pod : deleted) {
      resource(pod).edit(current -> new PodBuilder(current).editMetadata().withFinalizers().endMetadata().build());
      placed.remove(pod.getMetadata().getUid());
    }
  }

  /** Delete what only pods own that are gone. */
  private void collectGarbage(List<HasMetadata> objects, Set<String> uids) {
    for (HasMetadata object : objects) {
      var owners = object.getMetadata().getOwnerReferences();
      if (!owners.isEmpty()
          && owners.stream().allMatch(owner -> owner.getKind().equals("Pod") && !uids.contains(owner.getUid()))) {
        client.resource(object).delete();
      }
    }
  }

  private void schedule(Pod pod, List<ConfigMap> configMaps) {
    Map<String, BigDecimal> wanted = requests(pod);
    List<String> reasons = new ArrayList<>();
    String chosen = null;
    BigDecimal mostLeft = null;
    for (String node : capacities.keySet()) {
      Map<String, BigDecimal> left = left(node);
      List<String> lacking =
          wanted.keySet().stream()
              .filter(name -> wanted.get(name).compareTo(left.getOrDefault(name, BigDecimal.ZERO)) > 0)
              .sorted()
              .toList();
      lacking.forEach(name -> reasons.add("Insufficient " + name));
      BigDecimal cpu = left.get("cpu");
      if (lacking.isEmpty() && (mostLeft == null || cpu.compareTo(mostLeft) > 0)) {
        chosen = node;
        mostLeft = cpu;
      }
    }
    if (chosen == null) {
      setUnschedulable(pod, reasons);
      return;
    }
    Map<String, ConfigMap> there =
        configMaps.stream()
            .filter(map -> map.getMetadata().getNamespace().equals(pod.getMetadata().getNamespace()))
            .collect(Collectors.toMap(map -> map.getMetadata().getName(), map -> map));
    for (Volume volume : pod.getSpec().getVolumes()) {
      if (volume.getConfigMap() != null && !there.containsKey(volume.getConfigMap().getName())) {
        return; // spark-submit puts it there after the pod: a kubelet waits as well
      }
    }
    start(pod, chosen, there);
  }

  private void setUnschedulable(Pod pod, List<String> reasons) {
    String message =
        "0/" + capacities.size() + " nodes are available: "
            + new TreeMap<>(reasons.stream().collect(Collectors.groupingBy(r -> r, Collectors.counting())))
                .entrySet().stream()
                    .map(entry -> entry.getValue() + " " + entry.getKey())
                    .collect(Collectors.joining(", "))
            + ".";
    PodStatus before = pod.getStatus();
    if (before != null
        && before.getConditions().stream().anyMatch(condition -> message.equals(condition.getMessage()))) {
      return;
    }
    setStatus(
        pod,
        new PodStatusBuilder()
            .withPhase("Pending")
            .addNewCondition()
            .withType("PodScheduled")
            .withStatus("False")
            .withReason("Unschedulable")
            .withMessage(message)
            .endCondition()
            .build());
  }

  private Map<String, BigDecimal> left(String node) {
    Map<String, BigDecimal> left = new HashMap<>(capacities.get(node));
    for (Placed other : placed.values()) {
      if (other.node.equals(node) && !other.ended) {
        requests(other.pod).forEach((name, amount) -> left.merge(name, amount.negate(), BigDecimal::add));
      }
    }
    return left;
  }

  private static Map<String, BigDecimal> requests(Pod pod) {
    Map<String, BigDecimal> sum = new HashMap<>();
    for (Container container : pod.getSpec().getContainers()) {
      if (container.getResources() != null && container.getResources().getRequests() != null) {
        amounts(container.getResources().getRequests())
            .forEach((name, amount) -> sum.merge(name, amount, BigDecimal::add));
      }
    }
    return sum;
  }

  private static Map<String, BigDecimal> amounts(Map<String, Quantity> quantities) {
    return quantities.entrySet().stream()
        .collect(Collectors.toMap(Map.Entry::getKey, entry -> Quantity.getAmountInBytes(entry.getValue())));
  }

  private void start(Pod pod, String node, Map<String, ConfigMap> configMaps) {
    String address = "127.0.3." + (1 + addressesGiven++ % 254);
    Placed started = new Placed(pod, node, address);
    Container container = pod.getSpec().getContainers().get(0);
    resource(pod).edit(current -> new PodBuilder(current).editSpec().withNodeName(node).endSpec().build());
    placed.put(pod.getMetadata().getUid(), started);
    try {
      Path folder = directory.resolve("pods").resolve(pod.getMetadata().getName());
      Map<String, Path> mounts = mount(pod, container, folder, configMaps);
      List<String> command = new ArrayList<>(List.of("setpriv", "--pdeathsig", "KILL"));
      List<String> own = container.getCommand();
      command.addAll(own == null || own.isEmpty() ? List.of(entrypoint) : own);
      command.addAll(container.getArgs());
      command.replaceAll(word -> inMounts(word, mounts));
      ProcessBuilder builder = new ProcessBuilder(command);
      Map<String, String> environment = builder.environment();
      for (EnvVar variable : container.getEnv()) {
        environment.put(variable.getName(), inMounts(value(variable, started), mounts));
      }
      String options = environment.getOrDefault("JDK_JAVA_OPTIONS", "");
      environment.put("JDK_JAVA_OPTIONS", options + " -Djdk.net.hosts.file=" + hosts());
      builder.directory(Files.createDirectories(folder.resolve("work")).toFile());
      builder.redirectInput(new File("/dev/null"));
      builder.redirectErrorStream(true);
      builder.redirectOutput(folder.resolve("log").toFile());
      started.process = builder.start();
    } catch (IOException | IllegalArgumentException error) {
      error.printStackTrace();
      started.ended = true;
      setStatus(pod, status(started, "Failed", container, 128, error.toString()));
      return;
    }
    setStatus(pod, status(started, "Running", container, null, null));
  }

  /** Put the volumes into the pod's folder; returns the folders by the paths at which the container sees them. */
  private static Map<String, Path> mount(
      Pod pod, Container container, Path folder, Map<String, ConfigMap> configMaps) throws IOException {
    Map<String, Volume> volumes =
        pod.getSpec().getVolumes().stream().collect(Collectors.toMap(Volume::getName, volume -> volume));
    Map<String, Path> mounts = new HashMap<>();
    for (VolumeMount mount : container.getVolumeMounts()) {
      Volume volume = volumes.get(mount.getName());
      if (volume.getHostPath() != null) {
        mounts.put(mount.getMountPath(), Path.of(volume.getHostPath().getPath()));
        continue;
      }
      Path there = Files.createDirectories(folder.resolve("volumes").resolve(mount.getName()));
      mounts.put(mount.getMountPath(), there);
      if (volume.getConfigMap() != null) {
        Map<String, String> data = configMaps.get(volume.getConfigMap().getName()).getData();
        List<KeyToPath> items = volume.getConfigMap().getItems();
        Map<String, String> paths =
            items == null || items.isEmpty()
                ? data.keySet().stream().collect(Collectors.toMap(key -> key, key -> key))
                : items.stream().collect(Collectors.toMap(KeyToPath::getKey, KeyToPath::getPath));
        for (Map.Entry<String, String> item : paths.entrySet()) {
          Path file = there.resolve(item.getValue());
          Files.createDirectories(file.getParent());
          Files.writeString(file, data.get(item.getKey()));
        }
      } else if (volume.getEmptyDir() == null) {
        throw new IllegalArgumentException("volumes here are config maps, empty folders or the host's: " + volume);
      }
    }
    return mounts;
  }

  /** A path in a container's volume, as the path of the folder that it is here. */
  private static String inMounts(String text, Map<String, Path> mounts) {
    for (Map.Entry<String, Path> mount : mounts.entrySet()) {
      text =
          text.replaceAll(
              Pattern.quote(mount.getKey()) + "(?=/|$|,)", Matcher.quoteReplacement(mount.getValue().toString()));
    }
    return text;
  }

  private static String value(EnvVar variable, Placed pod) {
    if (variable.getValueFrom() == null) {
      return Objects.requireNonNullElse(variable.getValue(), "");
    }
    var field = variable.getValueFrom().getFieldRef();
    return switch (field == null ? "" : field.getFieldPath()) {
      case "status.podIP", "status.hostIP" -> pod.address;
      case "metadata.name" -> pod.pod.getMetadata().getName();
      case "metadata.namespace" -> pod.pod.getMetadata().getNamespace();
      case "spec.nodeName" -> pod.node;
      default -> throw new IllegalArgumentException("the stand-in does not know " + variable);
    };
  }

  private void noteEnd(Placed one) {
    if (one.ended || one.process == null || one.process.isAlive()) {
      return;
    }
    one.ended = true;
    int code = one.process.exitValue();
    Container container = one.pod.getSpec().getContainers().get(0);
    setStatus(one.pod, status(one, code == 0 ? "Succeeded" : "Failed", container, code, null));
  }

  private static PodStatus status(Placed one, String phase, Container container, Integer exitCode, String message) {
    ContainerStatusBuilder state =
        new ContainerStatusBuilder()
            .withName(container.getName())
            .withImage(container.getImage())
            .withImageID(container.getImage())
            .withRestartCount(0)
            .withReady(exitCode == null)
            .withStarted(exitCode == null);
    if (exitCode == null) {
      state.withNewState().withNewRunning().withStartedAt(one.startedAt).endRunning().endState();
    } else {
      state
          .withNewState()
          .withNewTerminated()
          .withStartedAt(one.startedAt)
          .withFinishedAt(Instant.now().toString())
          .withExitCode(exitCode)
          .withReason(exitCode == 0 ? "Completed" : "Error")
          .withMessage(message)
          .endTerminated()
          .endState();
    }
    return new PodStatusBuilder()
        .withPhase(phase)
        .withPodIP(one.address)
        .withHostIP(one.address)
        .withStartTime(one.startedAt)
        .addNewCondition()
        .withType("PodScheduled")
        .withStatus("True")
        .endCondition()
        .addNewCondition()
        .withType("Ready")
        .withStatus(exitCode == null ? "True" : "False")
        .endCondition()
        .withContainerStatuses(state.build())
        .build();
  }

  private void setStatus(Pod pod, PodStatus status) {
    resource(pod).editStatus(current -> new PodBuilder(current).withStatus(status).build());
  }

  private PodResource resource(Pod pod) {
    return client.pods().inNamespace(pod.getMetadata().getNamespace()).withName(pod.getMetadata().getName());
  }

  private Path hosts() {
    return directory.resolve("hosts");
  }

  /** The DNS of the cluster: the names of headless services stand for the addresses of their pods. */
  private void writeHosts(List<Service> services) {
    List<String> lines = new ArrayList<>(List.of("127.0.0.1 localhost"));
    for (Service service : services) {
      Map<String, String> selector =
          Objects.requireNonNullElse(service.getSpec().getSelector(), Collections.emptyMap());
      String name = service.getMetadata().getName() + "." + service.getMetadata().getNamespace() + ".svc";
      for (Placed one : placed.values()) {
        Map<String, String> labels =
            Objects.requireNonNullElse(one.pod.getMetadata().getLabels(), Collections.emptyMap());
        if (!selector.isEmpty() && labels.entrySet().containsAll(selector.entrySet())) {
          lines.add(one.address + " " + name + " " + name + ".cluster.local");
        }
      }
    }
    try {
      Path next = directory.resolve("hosts.next");
      Files.write(next, lines);
      Files.move(next, hosts(), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private void endAll() {
    try {
      end(new ArrayList<>(placed.values()));
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  private static void end(List<Placed> pods) throws InterruptedException {
    List<ProcessHandle> processes = new ArrayList<>();
    for (Placed one : pods) {
      if (one.process != null && one.process.isAlive()) {
        processes.addAll(one.process.descendants().toList());
        processes.add(one.process.toHandle());
        one.process.destroy();
      }
    }
    Instant deadline = Instant.now().plusSeconds(GRACE_SECONDS);
    while (processes.stream().anyMatch(ProcessHandle::isAlive) && Instant.now().isBefore(deadline)) {
      TimeUnit.MILLISECONDS.sleep(50);
    }
    processes.forEach(ProcessHandle::destroyForcibly);
    for (Placed one : pods) {
      if (one.process != null) {
        one.process.waitFor();
      }
    }
  }
}

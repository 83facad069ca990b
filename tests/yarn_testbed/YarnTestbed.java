import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;

/**
 * A real YARN in one process: a ResourceManager, and NodeManagers that each have an address of their own.
 *
 * <p>The first NodeManager stands on 127.0.0.2, the second on 127.0.0.3, and so on: executors see several hosts. Its
 * configuration is read from yarn-site.xml and capacity-scheduler.xml on the class path. When all is there, the
 * ResourceManager's addresses are printed as properties, one a line, then READY. Commands come on standard input, one a
 * line; each is answered by DONE and itself:
 *
 * <ul>
 *   <li>{@code stop 2}: stop the second NodeManager, which ends its containers; answered when the ResourceManager knows
 *   <li>{@code start 2}: start it anew, with the same address; answered when it takes containers
 * </ul>
 *
 * <p>When standard input ends, everything is stopped: it ends with the process that started it, whatever happens.
 */
public final class YarnTestbed {
  /** The addresses by which clients, application masters and browsers find the ResourceManager. */
  private static final String[] ADDRESSES = {
    YarnConfiguration.RM_ADDRESS,
    YarnConfiguration.RM_SCHEDULER_ADDRESS,
    YarnConfiguration.RM_RESOURCE_TRACKER_ADDRESS,
    YarnConfiguration.RM_ADMIN_ADDRESS,
    YarnConfiguration.RM_WEBAPP_ADDRESS,
  };

  private final Configuration configuration = new YarnConfiguration();
  private final ResourceManager resourceManager = new ResourceManager();
  private final Map<Integer, NodeManager> nodeManagers = new HashMap<>();
  private final Path work;

  private YarnTestbed(Path work) {
    this.work = work;
  }

  /** Arguments: how many NodeManagers, and their working directory. */
  public static void main(String[] arguments) throws Exception {
    YarnTestbed testbed = new YarnTestbed(Path.of(arguments[1]));
    // Whatever takes too long to stop, or throws, must not keep this process.
    Thread.setDefaultUncaughtExceptionHandler(
        (thread, problem) -> {
          problem.printStackTrace();
          Runtime.getRuntime().halt(1);
        });
    testbed.start(Integer.parseInt(arguments[0]));
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      testbed.obey(line.split(" "));
      System.out.println("DONE " + line);
    }
    testbed.stop();
    Runtime.getRuntime().halt(0);
  }

  private void start(int nodes) throws Exception {
    // Several daemons of one kind have metrics of the same names.
    DefaultMetricsSystem.setMiniClusterMode(true);
    configuration.setBoolean(YarnConfiguration.IS_MINI_YARN_CLUSTER, true);
    for (String address : ADDRESSES) {
      configuration.set(address, "127.0.0.1:0");
    }
    resourceManager.init(configuration);
    resourceManager.start();
    for (int number = 1; number <= nodes; number++) {
      startNode(number);
    }
    for (int number = 1; number <= nodes; number++) {
      waitForNode(number, true);
    }
    for (String address : ADDRESSES) {
      System.out.println(address + "=" + resourceManager.getConfig().get(address));
    }
    System.out.println("READY");
  }

  private void obey(String[] words) throws Exception {
    int number = Integer.parseInt(words[1]);
    switch (words[0]) {
      case "start" -> startNode(number);
      case "stop" -> nodeManagers.remove(number).stop();
      default -> throw new IllegalArgumentException(words[0]);
    }
    waitForNode(number, words[0].equals("start"));
  }

  private void startNode(int number) {
    String host = host(number);
    Configuration own = new YarnConfiguration(resourceManager.getConfig());
    // The address is the node's name, and without the other the name would be looked up: localhost, for all.
    own.set(YarnConfiguration.NM_BIND_HOST, host);
    own.set(YarnConfiguration.NM_ADDRESS, host + ":0");
    own.set(YarnConfiguration.NM_LOCALIZER_ADDRESS, host + ":0");
    own.set(YarnConfiguration.NM_WEBAPP_ADDRESS, host + ":0");
    own.set(YarnConfiguration.NM_LOCAL_DIRS, work.resolve("local-" + number).toString());
    own.set(YarnConfiguration.NM_LOG_DIRS, work.resolve("logs-" + number).toString());
    NodeManager nodeManager = new NodeManager();
    nodeManager.init(own);
    nodeManager.start();
    nodeManagers.put(number, nodeManager);
  }

  private void waitForNode(int number, boolean wanted) throws InterruptedException {
    while (takesContainers(host(number)) != wanted) {
      Thread.sleep(50);
    }
  }

  private boolean takesContainers(String host) {
    for (RMNode node : resourceManager.getRMContext().getRMNodes().values()) {
      if (node.getHostName().equals(host) && node.getState() == NodeState.RUNNING) {
        return true;
      }
    }
    return false;
  }

  private void stop() throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    for (NodeManager nodeManager : nodeManagers.values()) {
      // Each waits some seconds for its containers.
      Thread thread = new Thread(nodeManager::stop);
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    resourceManager.stop();
  }

  private static String host(int number) {
    return "127.0.0." + (number + 1);
  }
}

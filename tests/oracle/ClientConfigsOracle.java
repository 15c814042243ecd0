import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigTransformer;
import org.apache.kafka.common.config.provider.ConfigProvider;
import org.apache.kafka.common.config.provider.FileConfigProvider;
import org.apache.kafka.connect.connector.policy.ConnectorClientConfigOverridePolicy;
import org.apache.kafka.connect.health.ConnectorType;
import org.apache.kafka.connect.runtime.ConnectorConfig;
import org.apache.kafka.connect.runtime.Worker;
import org.apache.kafka.connect.runtime.WorkerConfig;
import org.apache.kafka.connect.runtime.distributed.DistributedConfig;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.util.ConnectorTaskId;

/** One question a line, in JSON: what Kafka's own classes make of a worker's, a connector's and a MirrorMaker's settings. */
public class ClientConfigsOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final TypeReference<Map<String, Map<String, String>>> QUESTION = new TypeReference<>() {};
    private static final String MIRROR = "org.apache.kafka.connect.mirror.";

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            Map<String, Map<String, String>> question = JSON.readValue(line, QUESTION);
            Map<String, Object> answer = new TreeMap<>();
            try {
                if (question.containsKey("dedicated"))
                    dedicated(question.get("dedicated"), question.get("flow"), answer);
                else
                    pair(question.get("worker"), question.get("connector"), answer);
            } catch (Exception | LinkageError refused) {
                answer.put("refused", String.valueOf(refused.getCause() == null ? refused : refused.getCause()));
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
    }

    private static void pair(Map<String, String> worker, Map<String, String> given, Map<String, Object> answer) throws Exception {
        DistributedConfig config = new DistributedConfig(worker);
        Map<String, ConfigProvider> providers = new HashMap<>();
        if (worker.containsKey("config.providers")) {
            ConfigProvider file = new FileConfigProvider();
            file.configure(Map.of());
            providers.put("file", file);
        }
        Map<String, String> resolved = new ConfigTransformer(providers).transform(given).data();
        ConnectorConfig connector = new ConnectorConfig(null, resolved);
        String name = resolved.get("name");
        String task = name + "-0";
        ConnectorClientConfigOverridePolicy policy = policy(worker, config);
        Object[] end = {config, connector, SourceConnector.class, policy, "KAFKA"};
        show(answer, "producer", () -> call("baseProducerConfigs", name, "connector-producer-" + task, end));
        show(answer, "exactly-once producer", () ->
            call("exactlyOnceSourceTaskProducerConfigs", new ConnectorTaskId(name, 0), end));
        show(answer, "consumer", () -> call("regularSourceOffsetsConsumerConfigs", name, "connector-consumer-" + task, end));
        show(answer, "exactly-once consumer", () ->
            call("exactlyOnceSourceOffsetsConsumerConfigs", name, "connector-consumer-" + task, end));
        show(answer, "sink-consumer", () ->
            call("baseConsumerConfigs", name, "connector-consumer-" + task, end, ConnectorType.SINK));
        show(answer, "admin", () -> call("adminConfigs", name, "connector-adminclient-" + task, end, ConnectorType.SOURCE));
        if (resolved.get("connector.class").startsWith(MIRROR))
            mirror(resolved, answer);
    }

    private static ConnectorClientConfigOverridePolicy policy(Map<String, String> worker, DistributedConfig config) throws Exception {
        String name = worker.getOrDefault("connector.client.config.override.policy", "All");
        Object policy = Class.forName("org.apache.kafka.connect.connector.policy." + name + "ConnectorClientConfigOverridePolicy")
            .getDeclaredConstructor().newInstance();
        ((ConnectorClientConfigOverridePolicy) policy).configure(config.originals());
        return (ConnectorClientConfigOverridePolicy) policy;
    }

    /** The clients of MirrorSourceConnector; the methods take the client's role from 3.5 on. */
    private static void mirror(Map<String, String> properties, Map<String, Object> answer) throws Exception {
        Class<?> type;
        try {
            type = Class.forName(MIRROR + "MirrorSourceConfig");
        } catch (ClassNotFoundException before) {
            type = Class.forName(MIRROR + "MirrorConnectorConfig");
        }
        Constructor<?> constructor = type.getDeclaredConstructor(Map.class);
        constructor.setAccessible(true);
        Object config = constructor.newInstance(properties);
        for (String method : new String[] {"sourceAdminConfig", "sourceConsumerConfig", "targetAdminConfig",
            "targetConsumerConfig", "offsetSyncsTopicProducerConfig"})
            show(answer, method, () -> (Map<?, ?>) invoke(config, method));
    }

    private static Object invoke(Object config, String name) throws Exception {
        for (Class<?> type = config.getClass(); type != null; type = type.getSuperclass())
            for (Method method : type.getDeclaredMethods())
                if (method.getName().equals(name) && !(method.getParameterCount() == 1 && method.getParameterTypes()[0] == Map.class)) {
                    method.setAccessible(true);
                    return method.invoke(config, new Object[method.getParameterCount()]);
                }
        throw new NoSuchMethodException(name);
    }

    private static void dedicated(Map<String, String> file, Map<String, String> flow, Map<String, Object> answer) throws Exception {
        Class<?> type = Class.forName(MIRROR + "MirrorMakerConfig");
        Object config = type.getConstructor(Map.class).newInstance(file);
        Class<?> pair = Class.forName(MIRROR + "SourceAndTarget");
        Object sourceAndTarget = pair.getConstructor(String.class, String.class).newInstance(flow.get("source"), flow.get("target"));
        show(answer, "worker", () -> (Map<?, ?>) type.getMethod("workerConfig", pair).invoke(config, sourceAndTarget));
        Class<?> connector = Class.forName(MIRROR + "MirrorSourceConnector");
        show(answer, "connector", () ->
            (Map<?, ?>) type.getMethod("connectorBaseConfig", pair, Class.class).invoke(config, sourceAndTarget, connector));
        answer.put("runs", type.getMethod("clusterPairs").invoke(config).toString());
    }

    /** A method of Worker that nobody else may call; arrays among the arguments are spread. */
    private static Map<?, ?> call(String name, Object... given) throws Exception {
        Object[] arguments = Arrays.stream(given)
            .flatMap(each -> each instanceof Object[] ? Arrays.stream((Object[]) each) : Arrays.stream(new Object[] {each}))
            .toArray();
        for (Method method : Worker.class.getDeclaredMethods())
            if (method.getName().equals(name)) {
                method.setAccessible(true);
                return (Map<?, ?>) method.invoke(null, arguments);
            }
        throw new NoSuchMethodException(name);
    }

    /** The map that a client is handed, and what that client's own class makes of it; the exception where one refuses. */
    private static void show(Map<String, Object> answer, String name, Callable<Map<?, ?>> made) throws Exception {
        Map<String, Object> handed = new TreeMap<>();
        try {
            made.call().forEach((key, value) -> handed.put((String) key, value));
            answer.put(name, handed);
        } catch (InvocationTargetException refused) {
            answer.put(name, refused.getCause().getClass().getSimpleName());
            return;
        }
        String lower = name.toLowerCase();
        if (!name.equals("worker") && !name.equals("connector"))
            answer.put("values of " + name, values(lower, handed));
    }

    private static Object values(String name, Map<String, Object> handed) {
        try {
            AbstractConfig config = name.contains("producer") ? new ProducerConfig(with(handed, "key.serializer", "value.serializer"))
                : name.contains("consumer") ? new ConsumerConfig(with(handed, "key.deserializer", "value.deserializer"))
                : new AdminClientConfig(with(handed));
            Map<String, String> values = new TreeMap<>();
            config.values().forEach((key, value) -> values.put(key, String.valueOf(value)));
            return values;
        } catch (RuntimeException refused) {
            return refused.getClass().getSimpleName() + ": " + refused.getMessage();
        }
    }

    private static Map<String, Object> with(Map<String, Object> handed, String... serialization) {
        Map<String, Object> whole = new HashMap<>(handed);
        for (String key : serialization)
            whole.putIfAbsent(key, "org.apache.kafka.common.serialization.ByteArray" + (key.contains("des") ? "Deserializer" : "Serializer"));
        whole.putIfAbsent("bootstrap.servers", "localhost:9092");
        return whole;
    }
}

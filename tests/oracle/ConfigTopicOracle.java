import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.runtime.SessionKey;
import org.apache.kafka.connect.runtime.distributed.DistributedConfig;
import org.apache.kafka.connect.storage.ClusterConfigState;
import org.apache.kafka.connect.storage.KafkaConfigBackingStore;
import org.apache.kafka.connect.util.Callback;
import org.apache.kafka.connect.util.ConnectorTaskId;
import org.apache.kafka.connect.util.TopicAdmin;

/**
 * Shows what Kafka's own KafkaConfigBackingStore makes of a config topic, one line of JSON per answer.
 *
 * "memory": logs come on stdin (int count, then per record: long offset, int length and bytes of key and of value, length
 * -1 for null) and each is given record by record to the store's own consume callback.
 * "topic" BOOTSTRAP SUPPORT: lines "TOPIC [APPLIED_OFFSET]" come on stdin. The store is started on the topic. With an
 * offset given, the start is expected to be blocked by an open transaction: what was applied up to that offset is shown,
 * and after a line "go" the state once start has returned.
 */
public class ConfigTopicOracle {
    private static final String TOPIC = "connect-configs";
    private static final long DEADLINE_MS = 30_000;
    private static final ObjectMapper JSON = new ObjectMapper();
    private static PrintStream out;

    public static void main(String[] args) throws Exception {
        out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        if (args[0].equals("memory")) {
            foldLogs(new DataInputStream(new BufferedInputStream(System.in, 1 << 16)));
        } else {
            startOnTopics(args[1], args[2]);
        }
    }

    private static void foldLogs(DataInputStream in) throws Exception {
        int first;
        while ((first = in.read()) >= 0) {
            int count = first << 24 | in.readUnsignedByte() << 16 | in.readUnsignedByte() << 8 | in.readUnsignedByte();
            KafkaConfigBackingStore store = storeWithoutClients();
            Callback<ConsumerRecord<String, byte[]>> callback = consumeCallback(store);
            List<String> thrown = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                long offset = in.readLong();
                byte[] key = bytes(in);
                byte[] value = bytes(in);
                String text = new StringDeserializer().deserialize(TOPIC, key);
                try {
                    callback.onCompletion(null, new ConsumerRecord<>(TOPIC, 0, offset, text, value));
                    thrown.add("");
                } catch (KafkaException e) {
                    thrown.add("poison");
                } catch (RuntimeException e) {
                    thrown.add("fatal");
                }
            }
            Map<String, Object> answer = state(store);
            answer.put("thrown", thrown);
            out.println(JSON.writeValueAsString(answer));
        }
    }

    private static byte[] bytes(DataInputStream in) throws IOException {
        int length = in.readInt();
        return length < 0 ? null : in.readNBytes(length);
    }

    private static KafkaConfigBackingStore storeWithoutClients() throws Exception {
        Class<?> unsafeClass = Class.forName("sun.misc.Unsafe");
        Field theUnsafe = unsafeClass.getDeclaredField("theUnsafe");
        theUnsafe.setAccessible(true);
        Object store = unsafeClass.getMethod("allocateInstance", Class.class)
            .invoke(theUnsafe.get(null), KafkaConfigBackingStore.class);
        for (Field field : KafkaConfigBackingStore.class.getDeclaredFields()) {
            if (java.lang.reflect.Modifier.isStatic(field.getModifiers()))
                continue;
            field.setAccessible(true);
            if (field.getType() == Map.class)
                field.set(store, new HashMap<>());
            else if (field.getType() == Set.class)
                field.set(store, new HashSet<>());
        }
        field("lock").set(store, new Object());
        field("offset").set(store, -1L);
        field("topic").set(store, TOPIC);
        field("converter").set(store, converter());
        return (KafkaConfigBackingStore) store;
    }

    @SuppressWarnings("unchecked")
    private static Callback<ConsumerRecord<String, byte[]>> consumeCallback(KafkaConfigBackingStore store) throws Exception {
        Class<?> inner = Class.forName(KafkaConfigBackingStore.class.getName() + "$ConsumeCallback");
        Constructor<?> constructor = inner.getDeclaredConstructor(KafkaConfigBackingStore.class);
        constructor.setAccessible(true);
        return (Callback<ConsumerRecord<String, byte[]>>) constructor.newInstance(store);
    }

    private static JsonConverter converter() {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "false"), false);
        return converter;
    }

    private static void startOnTopics(String bootstrap, String support) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        TopicAdmin admin = new TopicAdmin(new HashMap<>(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap)));
        String line;
        while ((line = lines.readLine()) != null) {
            String[] words = line.split(" ");
            KafkaConfigBackingStore store = newStore(bootstrap, support, words[0], admin);
            Map<String, Object> failure = new HashMap<>();
            Thread starter = new Thread(() -> {
                try {
                    store.start();
                } catch (Throwable e) {
                    failure.put("failure", e.getClass().getName());
                }
            });
            starter.start();
            if (words.length > 1) {
                out.println(JSON.writeValueAsString(blockedState(store, starter, Long.parseLong(words[1]))));
                lines.readLine();
            }
            starter.join(DEADLINE_MS);
            Map<String, Object> answer = state(store);
            answer.putAll(failure);
            answer.put("blocked", starter.isAlive());
            out.println(JSON.writeValueAsString(answer));
            store.stop();
        }
        admin.close();
    }

    private static Map<String, Object> blockedState(KafkaConfigBackingStore store, Thread starter, long applied) throws Exception {
        long deadline = System.nanoTime() + DEADLINE_MS * 1_000_000;
        while (!hasApplied(store, starter, applied) && starter.isAlive() && System.nanoTime() < deadline)
            Thread.sleep(5);
        Map<String, Object> answer = state(store);
        answer.put("blocked", starter.isAlive());
        return answer;
    }

    // The store moves its offset before it looks at the record, so the record counts once its callback is left.
    private static boolean hasApplied(KafkaConfigBackingStore store, Thread starter, long applied) throws Exception {
        if ((long) field("offset").get(store) != applied)
            return false;
        for (StackTraceElement frame : starter.getStackTrace()) {
            if (frame.getClassName().contains("ConsumeCallback"))
                return false;
        }
        return true;
    }

    private static KafkaConfigBackingStore newStore(String bootstrap, String support, String topic, TopicAdmin admin) throws Exception {
        Map<String, String> worker = new HashMap<>();
        worker.put("bootstrap.servers", bootstrap);
        worker.put("group.id", "oracle");
        worker.put("key.converter", JsonConverter.class.getName());
        worker.put("value.converter", JsonConverter.class.getName());
        worker.put("config.storage.topic", topic);
        worker.put("config.storage.replication.factor", "1");
        worker.put("offset.storage.topic", "oracle-offsets");
        worker.put("status.storage.topic", "oracle-status");
        worker.put("exactly.once.source.support", support);
        DistributedConfig config = new DistributedConfig(worker);
        for (Constructor<?> constructor : KafkaConfigBackingStore.class.getConstructors()) {
            if (constructor.getParameterCount() == 5)
                return (KafkaConfigBackingStore) constructor.newInstance(converter(), config, null, supplier(admin), "oracle-");
            if (constructor.getParameterCount() == 4)
                return (KafkaConfigBackingStore) constructor.newInstance(converter(), config, null, supplier(admin));
        }
        throw new IllegalStateException("no constructor of KafkaConfigBackingStore that is known");
    }

    private static java.util.function.Supplier<TopicAdmin> supplier(TopicAdmin admin) {
        return () -> admin;
    }

    private static Map<String, Object> state(KafkaConfigBackingStore store) throws Exception {
        ClusterConfigState state = store.snapshot();
        Map<String, Object> answer = new TreeMap<>();
        answer.put("offset", state.offset());
        answer.put("session_key", sessionKey(state.sessionKey()));
        answer.put("connectors", new TreeSet<>(state.connectors()));
        answer.put("configs", of(state, "connectorConfigs"));
        answer.put("target_states", of(state, "connectorTargetStates"));
        answer.put("task_counts", of(state, "connectorTaskCounts"));
        answer.put("task_configs", byTask((Map<?, ?>) of(state, "taskConfigs")));
        answer.put("task_count_records", of(state, "connectorTaskCountRecords"));
        answer.put("generations", of(state, "connectorTaskConfigGenerations"));
        answer.put("pending_fencing", sorted(of(state, "connectorsPendingFencing")));
        answer.put("inconsistent", new TreeSet<>(state.inconsistentConnectors()));
        Map<String, Object> deferred = new TreeMap<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) field("deferredTaskUpdates").get(store)).entrySet())
            deferred.put((String) entry.getKey(), numbered((Map<?, ?>) entry.getValue()));
        answer.put("deferred", deferred);
        Map<String, Object> visible = new TreeMap<>();
        for (String connector : state.connectors()) {
            if (state.taskCount(connector) >= 0) // ClusterConfigState.tasks throws for a negative count
                visible.put(connector, state.tasks(connector).size());
        }
        answer.put("visible_tasks", visible);
        return answer;
    }

    private static Object sessionKey(SessionKey key) {
        return key == null ? null : List.of(key.key().getAlgorithm(), key.creationTimestamp());
    }

    private static Object sorted(Object names) {
        return new TreeSet<Object>((Collection<?>) names);
    }

    private static Map<String, Object> byTask(Map<?, ?> configs) {
        Map<String, Object> connectors = new TreeMap<>();
        for (Map.Entry<?, ?> entry : configs.entrySet()) {
            ConnectorTaskId task = (ConnectorTaskId) entry.getKey();
            @SuppressWarnings("unchecked")
            Map<String, Object> tasks = (Map<String, Object>) connectors.computeIfAbsent(task.connector(), name -> new TreeMap<>());
            tasks.put(Integer.toString(task.task()), entry.getValue());
        }
        return connectors;
    }

    private static Map<String, Object> numbered(Map<?, ?> configs) {
        Map<String, Object> tasks = new TreeMap<>();
        configs.forEach((task, config) -> tasks.put(Integer.toString(((ConnectorTaskId) task).task()), config));
        return tasks;
    }

    private static Object of(ClusterConfigState state, String name) throws Exception {
        Field field = ClusterConfigState.class.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(state);
    }

    private static Field field(String name) throws Exception {
        Field field = KafkaConfigBackingStore.class.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
